"""Child processes that end when their parent does, however it ends.

A child has a separate session, so that Ctrl-C at the terminal reaches the parent alone. Its standard
input is a pipe whose other end only the parent holds: the *lifeline*. When the parent exits, or is killed,
the kernel closes that end and the child reads the end of the file. A parent that takes over a running child
makes a new pipe with `lifeline_pipe`, sends the reading end over a unix socket (SCM_RIGHTS) and the child
calls `Lifeline.replace`.
"""

import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO, Self


def ignore_interrupts() -> None:
    """The first line of a child's main: SIGINT is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def lifeline_pipe() -> tuple[int, int]:
    """A new lifeline: (the end the child watches, the end the parent keeps open).

    Neither is inherited by other children.
    """
    return os.pipe()


class Lifeline:
    """The child's end. `fd` may be put into a poller.

    `ended` asks without waiting and costs one system call.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._poll = select.poll()
        self._poll.register(fd, 0)  # no event is asked for: the end is reported without

    @classmethod
    def from_stdin(cls) -> Self:
        """Take over standard input, which becomes /dev/null, so that no other code reads from it."""
        fd = os.dup(0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        return cls(fd)

    def ended(self) -> bool:
        """Whether the parent is gone (or has released this child)."""
        return bool(self._poll.poll(0))

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the parent's end, at most so long where a time is given. Returns `ended()`."""
        return bool(self._poll.poll(None if timeout_s is None else timeout_s * 1e3))

    def replace(self, fd: int) -> None:
        """From now on another parent's pipe is the lifeline; the old one is closed."""
        self._poll.unregister(self.fd)
        os.close(self.fd)
        self.fd = fd
        self._poll.register(fd, 0)

    def close(self) -> None:
        """Stop watching."""
        os.close(self.fd)


def interrupt_with_parent() -> None:
    """Interrupt this process, as Ctrl-C does, when its lifeline, standard input, ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job inherits it ignored
    lifeline = Lifeline.from_stdin()

    def watch() -> None:
        lifeline.wait()
        os.kill(os.getpid(), signal.SIGINT)

    Thread(target=watch, daemon=True).start()


class Process:
    """Any process of this user, held by a pidfd: it cannot be mistaken for a later one with the same number.

    `pidfd` becomes readable when the process ends. Raises ProcessLookupError when there is none with this
    number.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self._poll = select.poll()
        self._poll.register(self.pidfd, select.POLLIN)

    @property
    def returncode(self) -> int | None:
        """None: only the parent of a process learns it."""
        return None

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return not self._poll.poll(0)

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end, at most so long. Returns whether it has ended."""
        return bool(self._poll.poll(timeout_s * 1e3))

    def send_signal(self, number: int) -> None:
        """Send a signal; without effect after its end."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, number)

    def kill(self) -> None:
        """Kill the process."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Close the pidfd; the process is not touched."""
        os.close(self.pidfd)


class Child(Process):
    """A process started here. `stdin` is its lifeline, `stdout` a pipe where that was asked for."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(process.pid)
        self._process = process
        self.stdin: IO[bytes] | None = process.stdin
        self.stdout: IO[bytes] | None = process.stdout

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        lifeline: bool = True,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Self:
        """Execute a command in a separate session.

        argv: the command and its arguments. env: variables set on top of this process's. lifeline: give it
        a pipe as standard input (otherwise /dev/null). stdout, stderr: as for subprocess.Popen. Raises
        OSError when it cannot start.
        """
        return cls(
            subprocess.Popen(
                list(argv),
                bufsize=0,
                stdin=subprocess.PIPE if lifeline else subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env={**os.environ, **env} if env else None,
                pass_fds=tuple(pass_fds),
                start_new_session=True,
            )
        )

    @property
    def returncode(self) -> int | None:
        """Exit code, minus the signal's number where a signal ended it, None while it runs."""
        return self._process.poll()

    def let_go(self) -> None:
        """Close the lifeline, so that the child stops and ends."""
        if self.stdin is not None:
            with suppress(BrokenPipeError):
                self.stdin.close()

    def stop(self, timeout_s: float) -> int:
        """Close the lifeline, wait `timeout_s` for the child to end, then kill it. Returns its exit code."""
        self.let_go()
        if not self.wait(timeout_s):
            self.kill()
        return self._process.wait()

    def close(self) -> None:
        """Close pipes and pidfd; a child that still runs loses its lifeline."""
        self.let_go()
        self._process.poll()  # collects the exit status of one that has ended
        if self.stdout is not None:
            self.stdout.close()
        super().close()
