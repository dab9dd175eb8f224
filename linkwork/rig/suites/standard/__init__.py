"""The standard suite: acceptance tests of a machine. Every test is written for any machine file.

A test's docstring is the requirement. A test that does not apply to a machine or a rig is skipped with the
reason.
"""
