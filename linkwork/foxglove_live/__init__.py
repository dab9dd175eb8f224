"""Live data for Foxglove: a client of the controller that serves its websocket."""
