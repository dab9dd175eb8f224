"""Test whether another controller follows the protocol: a plant that looks closely."""
