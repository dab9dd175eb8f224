"""Suites of rig tests that ship with linkwork; `linkwork rig test --suite NAME` runs one."""
