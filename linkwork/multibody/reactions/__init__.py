"""Reactions of joints and constraints."""
