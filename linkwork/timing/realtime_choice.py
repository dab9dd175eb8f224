"""The option `--realtime` of the daemons, without what real-time set-up has to import."""

from enum import StrEnum


class RealtimeChoice(StrEnum):
    """Reactions to an incomplete real-time set-up (`linkwork.timing.realtime.Policy`)."""

    ENFORCE = "enforce"
    WARN = "warn"
    IGNORE = "ignore"
