"""Fault injection on a time line: at the link, in sensors, motors, mechanism and processes.

The `*_faults` modules define a time line's entries and their effects, `timeline` reads and checks one,
`injected_faults` runs it tick by tick; the entries of mechanism faults are in `mechanism_entries`.
`faulty_machinery`, `wire` and `device` are the plant's machine and link with faults in them. A plant started
without faults uses none of this.
"""
