"""Data between the processes of a controller: goal blocks, orders, records, set-points, readings."""
