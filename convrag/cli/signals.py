"""How a signal ends the command: within two seconds, whatever a server or a library does.

Ctrl-C raises KeyboardInterrupt in the main thread, and SIGTERM and SIGHUP raise `Terminated`: blocks end as after an
error, and the calls of other threads are cancelled (see `convrag.store.cancellation`). Python raises nothing while the
main thread is in C code, say in the fit of a model, and what ends a block may hang, too. So a second thread watches:
it ends the process where the main thread does not. Only the command does so, no program that uses convrag as a library.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from convrag.store.cancellation import clean_up_abandoned

REACTION_SECONDS = 1.0
"""From the signal until the main thread must have noticed it; else the process is ended without it."""

CLOSING_SECONDS = 3.0
"""From the signal until the main thread must have ended all its blocks."""

CLEANUP_SECONDS = 1.0
"""What is closed without the main thread has so long."""

SECOND_SIGNAL_SECONDS = 0.3
"""Signals that come closer together are one: a terminal and a wrapper such as make both send Ctrl-C."""

_INTERRUPTS = {"SIGINT", "SIGBREAK"}
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # the last one is of Windows, and SIGHUP is not
_RESUMED = 0


class Terminated(SystemExit):
    """The process was sent SIGTERM or SIGHUP. It ends with 128 and the number of the signal, as shells have it."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(128 + number)


class SignalWatch:
    """Handles the signals that end a process; see the module. `kept` says where computed results are kept.

    SIGHUP stays ignored under nohup. SIGINT is heard also where a script has started the command with `&`, though a
    shell tells such a process to ignore it.
    """

    def __init__(self) -> None:
        self.kept = ""
        self._raised = 0
        self._finished = False
        self._reader, self._writer = socket.socketpair()

    def install(self) -> None:
        """Handle signals from now on. Only the main thread can."""
        self._writer.setblocking(False)
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and (name != "SIGHUP" or signal.getsignal(number) is signal.SIG_DFL):
                signal.signal(number, self._handle)
        self.listen()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._remove)
        threading.Thread(target=self._watch, name="signals", daemon=True).start()

    def listen(self) -> None:
        """Have the second thread hear of signals, also after an event loop has taken them over for a while."""
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def leave_if_told(self) -> None:
        """End the process where a signal has told so, whatever became of the exception that was raised then."""
        if self._raised:
            self.leave(self._raised)

    def resume(self) -> None:
        """Go on as if there had been no signal: the main thread has dropped what was interrupted."""
        self._raised = 0
        self._writer.send(bytes([_RESUMED]))

    def finish(self) -> None:
        """The command has done its work, and Python shuts down: from now on a signal ends the process at once."""
        self._finished = True

    def leave(self, number: int) -> NoReturn:
        """Say what is kept, close what is open, and end the process, with all threads that hang."""
        name = signal.Signals(number).name
        ending = "interrupted" if name in _INTERRUPTS else f"stopped by {name}"
        place = f" in {self.kept}" if self.kept else ""
        with suppress(Exception):
            sys.stderr.write(
                f"convrag: {ending}. What was computed is kept{place}: the same command goes on from there.\n"
            )
        clean_up_abandoned()
        atexit._run_exitfuncs()  # logging's and those of libraries, but not the one that waits for threads
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(_status(number))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._finished:  # an exception would end Python with a status of its own
            os._exit(_status(number))
        if self._raised:  # the blocks are ending: not once more in their midst
            return
        self._raised = number
        if signal.Signals(number).name in _INTERRUPTS:
            raise KeyboardInterrupt
        raise Terminated(number)

    def _remove(self) -> None:
        """In a forked child signals do what they do by default: what it gets is not for its parent to hear of."""
        with suppress(ValueError):
            signal.set_wakeup_fd(-1)
            for name in _NAMES:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) == self._handle:
                    signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)

    def _watch(self) -> None:
        """Read the numbers of signals, which the system's part of Python writes whatever the main thread does."""
        first, since = 0, 0.0
        while True:
            numbers = self._receive(since + self._limit() - time.monotonic() if first else None)
            for number in numbers:
                if number == _RESUMED:
                    first = 0
                elif signal.getsignal(number) != self._handle:  # another's, as a server's own
                    continue
                elif not first:
                    first, since = number, time.monotonic()
                elif time.monotonic() - since > SECOND_SIGNAL_SECONDS:
                    os._exit(_status(number))
            if first and time.monotonic() >= since + self._limit():
                threading.Thread(target=self.leave, args=[first], daemon=True).start()
                time.sleep(CLEANUP_SECONDS)
                clean_up_abandoned(slow=False)
                os._exit(_status(first))

    def _limit(self) -> float:
        return CLOSING_SECONDS if self._raised else REACTION_SECONDS

    def _receive(self, seconds: float | None) -> bytes:
        """Wait for numbers, up to REACTION_SECONDS at a time once there was one; empty where there is none."""
        self._reader.settimeout(None if seconds is None else min(max(seconds, 0.01), REACTION_SECONDS))
        try:
            return self._reader.recv(64)
        except TimeoutError:
            return b""


def _status(number: int) -> int:
    """The exit status, as shells have it; Windows' Ctrl-Break is one with Ctrl-C."""
    return 128 + (signal.SIGINT if signal.Signals(number).name in _INTERRUPTS else number)


_watch: list[SignalWatch] = []


def watch_signals() -> SignalWatch:
    """Watch the signals of this process, which must be the command's."""
    _watch[:] = [SignalWatch()]
    _watch[0].install()
    return _watch[0]


def note_kept(place: str) -> None:
    """Note where the command keeps what it computes; without effect in a process that a launcher started."""
    for watch in _watch:
        watch.kept = place


def leave_if_told() -> None:
    """End the process where a signal has told so: what has failed since then, failed for that."""
    for watch in _watch:
        watch.leave_if_told()


def resume() -> None:
    """Go on after KeyboardInterrupt, as a chat does that gives the prompt again; without effect in a library."""
    for watch in _watch:
        watch.resume()


@contextmanager
def keep_watching() -> Iterator[None]:
    """Watch on after the block, in which an event loop may take over the signals, as that of a prompt does.

    Without effect in a library.
    """
    try:
        yield
    finally:
        for watch in _watch:
            watch.listen()
