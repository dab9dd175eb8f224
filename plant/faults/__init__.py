"""Fault injection on a time line: at the link, in sensors, motors, mechanism and processes.

The `*_faults` modules define entries and effects, `timeline` reads and checks one, `injected_faults` runs
it tick by tick. The effects are in the `*_effects` modules, `mechanism_faults` and `stalls`;
`faulty_machinery`, `wire` and `device` are the plant's machine and link with faults in them. A plant started
without faults uses none of this.
"""
