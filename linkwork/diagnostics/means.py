"""Real-time means of the computer itself, beside those that a process asks for: kernel, power, sharing."""

from __future__ import annotations

import os
from pathlib import Path

from linkwork.timing.setup_steps import SetupStep

_CPUS = Path("/sys/devices/system/cpu")


def computer_means() -> list[SetupStep]:
    """Return the real-time means of this computer, as far as it reports them."""
    version = os.uname().version
    found = [
        SetupStep(
            "kernel",
            "PREEMPT_RT",
            "PREEMPT_RT" if "PREEMPT_RT" in version else "without PREEMPT_RT",
            "Install a kernel with PREEMPT_RT (Debian: linux-image-rt-amd64): it bounds the worst case.",
        )
    ]
    virtual = "hypervisor" in _read(Path("/proc/cpuinfo"))
    found.append(
        SetupStep(
            "computer",
            "real",
            "virtual" if virtual else "real",
            "The host may take a processor away at any time: measure on the real computer.",
        )
    )
    governors = {_read(path) for path in _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    if governors:
        found.append(
            SetupStep(
                "frequency",
                "performance",
                " ".join(sorted(governors)),
                "Keep the frequency: cpupower frequency-set -g performance.",
            )
        )
    threads = _read(_CPUS / "smt" / "active")
    if threads in ("0", "1"):
        found.append(
            SetupStep(
                "hyper-threading",
                "off",
                "on" if threads == "1" else "off",
                "Turn it off: echo off | sudo tee /sys/devices/system/cpu/smt/control, or in the firmware.",
            )
        )
    isolated = _read(_CPUS / "isolated")
    last = max(os.sched_getaffinity(0))
    found.append(
        SetupStep(
            "own processor",
            "isolated",
            "isolated" if isolated else "shared with other programs",
            f"Boot with isolcpus={last} nohz_full={last} rcu_nocbs={last}; run daemons with --cpu {last}.",
        )
    )
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
