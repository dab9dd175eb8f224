"""The ROS 2 node of a running machine: a client of its gateway, in a process of its own."""
