"""From a request to an admitted goal."""
