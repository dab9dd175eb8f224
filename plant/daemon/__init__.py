"""The plant's process."""
