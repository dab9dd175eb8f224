"""The option `--realtime` of the daemons, without what real-time set-up has to import."""

from enum import StrEnum


class RealtimeChoice(StrEnum):
    """What happens when real-time set-up falls short (`linkwork.timing.realtime.Policy`)."""

    ENFORCE = "enforce"
    WARN = "warn"
    IGNORE = "ignore"
