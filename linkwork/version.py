"""The version of linkwork; the build reads it here."""

__version__ = "0.1.0"
