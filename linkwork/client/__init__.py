"""The Python client of a running controller. It imports only `linkwork.protocol` and third-party packages."""
