"""How a signal ends the command: within two seconds, whatever a server or a library does.

Ctrl-C raises KeyboardInterrupt in the main thread, and SIGTERM and SIGHUP raise `Terminated`:
blocks end as after an error, and the calls of other threads are cancelled (see
`convrag.concurrency.cancellation`). Python raises nothing while the main thread is in C code, say
in the fit of a model, and what ends a block may hang, too. So a second thread watches: it ends the
process where the main thread does not. Only the command does so, no program that uses convrag as a
library.
"""

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

from convrag.concurrency.cancellation import run_exit_cleanups

REACTION_SECONDS = 1.0
"""From the signal until the main thread must have noticed it; else the process is ended without it.
"""

CLOSING_SECONDS = 3.0
"""From the signal until the main thread must have ended all its blocks."""

CLEANUP_SECONDS = 1.0
"""What is closed without the main thread has so long."""

SECOND_SIGNAL_SECONDS = 0.3
"""Signals that come closer together are one: a terminal and a wrapper such as make both send
Ctrl-C.
"""

_HANGUP = getattr(signal, "SIGHUP", -1)  # Windows has none, and SIGBREAK in its place
_INTERRUPTS = {signal.SIGINT, getattr(signal, "SIGBREAK", signal.SIGINT)}
_NUMBERS = [*_INTERRUPTS, signal.SIGTERM, *([_HANGUP] if _HANGUP >= 0 else [])]
_RESUMED = 0


class Terminated(SystemExit):
    """The process was sent SIGTERM or SIGHUP. It ends with 128 and the number of the signal, as
    shells have it.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(128 + number)


class _State:
    """What this process knows of signals; `writer` is None in a library, which watches none."""

    kept = ""
    raised = 0
    finished = False
    writer: socket.socket | None = None


_state = _State()


def watch_signals() -> None:
    """Handle the signals of this process, which must be the command's, from now on. Only the main
    thread can.

    SIGHUP stays ignored under nohup. SIGINT is heard also where a script has started the command
    with `&`, though a shell tells such a process to ignore it.
    """
    reader, _state.writer = socket.socketpair()
    _state.writer.setblocking(False)
    for number in _NUMBERS:
        if number != _HANGUP or signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _handle)
    _listen()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)
    threading.Thread(target=_watch, args=[reader], name="signals", daemon=True).start()


def note_kept(place: str) -> None:
    """Note where the command keeps what it computes."""
    _state.kept = place


def finish() -> None:
    """The command has done its work, and Python shuts down: from now on a signal ends the process
    at once.
    """
    _state.finished = True


def leave_if_told() -> None:
    """End the process where a signal has told so: what has failed since then, failed for that."""
    if _state.raised:
        leave(_state.raised)


def leave(number: int) -> NoReturn:
    """Say what is kept, close what is open, and end the process, with all threads that hang."""
    ending = "interrupted" if number in _INTERRUPTS else f"stopped by {signal.Signals(number).name}"
    place = f" in {_state.kept}" if _state.kept else ""
    with suppress(Exception):
        sys.stderr.write(
            f"convrag: {ending}. What was computed is kept{place}: "
            "the same command goes on from there.\n"
        )
    run_exit_cleanups()
    atexit._run_exitfuncs()  # logging's and the libraries', but not the one that waits for threads
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(_status(number))


def resume() -> None:
    """Go on after KeyboardInterrupt, as a chat does that gives the prompt again; without effect in
    a library.
    """
    _state.raised = 0
    if _state.writer:
        _state.writer.send(bytes([_RESUMED]))


@contextmanager
def keep_watching() -> Iterator[None]:
    """Watch on after the block, in which an event loop may take over the signals, as a prompt's
    does.

    Without effect in a library.
    """
    try:
        yield
    finally:
        _listen()


def _listen() -> None:
    if _state.writer:
        signal.set_wakeup_fd(_state.writer.fileno(), warn_on_full_buffer=False)


def _handle(number: int, frame: FrameType | None) -> None:
    if _state.finished:  # an exception would end Python with a status of its own
        os._exit(_status(number))
    if _state.raised:  # the blocks are ending: not once more in their midst
        return
    _state.raised = number
    raise KeyboardInterrupt if number in _INTERRUPTS else Terminated(number)


def _forget() -> None:
    """In a forked child signals do what they do by default: what it gets is not for its parent to
    hear of.
    """
    with suppress(ValueError):
        signal.set_wakeup_fd(-1)
        for number in _NUMBERS:
            if signal.getsignal(number) is _handle:
                signal.signal(
                    number,
                    signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL,
                )


def _watch(reader: socket.socket) -> None:
    """Read the numbers of signals, which the system's part of Python writes whatever the main
    thread does.
    """
    first, since = 0, 0.0
    while True:
        left = since + (CLOSING_SECONDS if _state.raised else REACTION_SECONDS) - time.monotonic()
        if first and left <= 0:
            threading.Thread(target=leave, args=[first], daemon=True).start()
            time.sleep(CLEANUP_SECONDS)
            run_exit_cleanups(slow=False)
            os._exit(_status(first))
        reader.settimeout(min(left, REACTION_SECONDS) if first else None)
        with suppress(TimeoutError):
            for number in reader.recv(64):
                if number == _RESUMED:
                    first = 0
                elif signal.getsignal(number) is not _handle:  # another's, as a server's own
                    continue
                elif not first:
                    first, since = number, time.monotonic()
                elif time.monotonic() - since > SECOND_SIGNAL_SECONDS:
                    os._exit(_status(number))


def _status(number: int) -> int:
    """The exit status, as shells have it; Windows' Ctrl-Break is one with Ctrl-C."""
    return 128 + (signal.SIGINT if number in _INTERRUPTS else number)
