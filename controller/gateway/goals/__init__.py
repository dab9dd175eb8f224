"""Motion requests: planning jobs, the queue of goals, and goals under a changed payload."""
