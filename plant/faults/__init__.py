"""Faults put in on purpose, on a time line: at the link, in sensors, motors, mechanism and processes.

`entries*` say what a time line may hold, `timeline` reads and checks one, `faults` runs it tick by tick.
What acts lies in `striking`, `sensing`, `driving`, `mechanism` and `stalls`; `machinery`, `wire` and `device`
are the plant's machine and link with faults in them. Nothing of this is there in a plant started without.
"""
