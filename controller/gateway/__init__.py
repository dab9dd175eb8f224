"""The process that owns every client socket and minds the loop."""
