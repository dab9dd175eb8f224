"""Rows of constraints factored loop by loop: elimination, rank, assembly branches."""
