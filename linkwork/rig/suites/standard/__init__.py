"""The standard suite: how a machine is accepted. Every test is written for any machine file.

A test's docstring is the requirement. What a machine has not, or a rig cannot do, is skipped with the reason.
"""
