"""Campaigns: many simulated runs of a machine and its controller, with figures of merit of each; tuning."""
