"""Deterministic simulation of the whole service: random sessions, an auditor, and seeds that repeat."""
