"""Motion without a planned path: streams of set-points and jogging, limited online."""
