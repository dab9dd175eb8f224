"""The schema of the machine file: one module for each section, validated by pydantic."""
