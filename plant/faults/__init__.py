"""Fault injection on a time line: at the link, in sensors, motors, signals, mechanism and processes.

A kind of fault is a class in a `*_faults` module, with its keys, its check and its effect; `fault` has their
base. `timeline` lists the kinds and reads a time line, `injected_faults` runs it tick by tick.
`faulty_machinery`, `wire` and `device` are the plant's machine and link with faults in them. A plant started
without faults uses none of this.
"""
