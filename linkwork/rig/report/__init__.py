"""Reports of rig tests: JUnit XML for machines, one page for people, the numbers for comparisons."""
