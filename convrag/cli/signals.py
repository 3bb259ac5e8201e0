"""Ends the command within two seconds of a signal, whatever a server or a library does.

Ctrl-C raises KeyboardInterrupt in the main thread, and SIGTERM and SIGHUP raise `Terminated`:
blocks end as after an error, and the calls of other threads are cancelled (see
`convrag.concurrency.cancellation`). Python raises nothing while the main thread is in C code, such
as the fit of a model, and the cleanup of a block may hang, too. So a second thread watches: it ends
the process where the main thread does not. Only the command does so, never a program that uses
convrag as a library.
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
"""Time for the main thread to notice a signal; after it the process ends without the thread."""

CLOSING_SECONDS = 3.0
"""Time for the main thread to end all its blocks after a signal."""

CLEANUP_SECONDS = 1.0
"""Time for the cleanup without the main thread."""

SECOND_SIGNAL_SECONDS = 0.3
"""Least time between two signals that count separately.

A terminal and a wrapper such as make both send Ctrl-C.
"""

_HANGUP = getattr(signal, "SIGHUP", -1)  # Windows has SIGBREAK instead
_INTERRUPTS = {signal.SIGINT, getattr(signal, "SIGBREAK", signal.SIGINT)}
_NUMBERS = [*_INTERRUPTS, signal.SIGTERM, *([_HANGUP] if _HANGUP >= 0 else [])]
_RESUMED = 0


class Terminated(SystemExit):
    """The end of a process after SIGTERM or SIGHUP; its status is 128 plus the signal's number."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(128 + number)


class _State:
    """The signals of this process, and its output."""

    output_place = ""
    """The place where the command keeps its results."""

    raised = 0
    """Number of the signal that has raised an exception in the main thread."""

    finished = False
    """Whether the command has done its work."""

    writer: socket.socket | None = None
    """Wakes the watching thread; None in a library, which watches no signals."""


_state = _State()


def watch_signals() -> None:
    """Handle the signals of the command's process from now on. Only the main thread can call it.

    SIGHUP stays ignored under nohup. SIGINT is handled even where a script has started the command
    with `&`, though a shell makes such a process ignore it.
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
    """Note where the command keeps its results."""
    _state.output_place = place


def finish() -> None:
    """Let a signal end the process at once, since the command has done its work."""
    _state.finished = True


def leave_if_told() -> None:
    """End the process after a signal, which is the cause of any failure since then."""
    if _state.raised:
        leave(_state.raised)


def leave(number: int) -> NoReturn:
    """Report where results are kept, run the cleanups, and end the process and hanging threads."""
    ending = "interrupted" if number in _INTERRUPTS else f"stopped by {signal.Signals(number).name}"
    place = f" in {_state.output_place}" if _state.output_place else ""
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
    """Continue after KeyboardInterrupt, as a chat does at its prompt.

    It has no effect in a library.
    """
    _state.raised = 0
    if _state.writer:
        _state.writer.send(bytes([_RESUMED]))


@contextmanager
def keep_watching() -> Iterator[None]:
    """Watch signals again after a block in which an event loop may take them over.

    It has no effect in a library.
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
    if _state.raised:  # the blocks are ending, and a second exception would interrupt that
        return
    _state.raised = number
    raise KeyboardInterrupt if number in _INTERRUPTS else Terminated(number)


def _forget() -> None:
    """Restore the default handlers in a forked child, whose signals its parent must not hear."""
    with suppress(ValueError):
        signal.set_wakeup_fd(-1)
        for number in _NUMBERS:
            if signal.getsignal(number) is _handle:
                is_interrupt = number == signal.SIGINT
                signal.signal(
                    number, signal.default_int_handler if is_interrupt else signal.SIG_DFL
                )


def _watch(reader: socket.socket) -> None:
    """Read the numbers of signals, and end the process where the main thread is late.

    Python's C code writes the numbers, whatever the main thread does.
    """
    first = 0
    since = 0.0
    while True:
        allowed = CLOSING_SECONDS if _state.raised else REACTION_SECONDS
        left = since + allowed - time.monotonic()
        if first and left <= 0:
            _leave_without_main_thread(first)
        reader.settimeout(min(left, REACTION_SECONDS) if first else None)
        with suppress(TimeoutError):
            for number in reader.recv(64):
                if number == _RESUMED:
                    first = 0
                elif signal.getsignal(number) is not _handle:  # another handler, as a server's
                    continue
                elif not first:
                    first = number
                    since = time.monotonic()
                elif time.monotonic() - since > SECOND_SIGNAL_SECONDS:
                    os._exit(_status(number))


def _leave_without_main_thread(number: int) -> NoReturn:
    """End the process in a second thread, or without it where its cleanup hangs."""
    threading.Thread(target=leave, args=[number], daemon=True).start()
    time.sleep(CLEANUP_SECONDS)
    run_exit_cleanups(slow=False)
    os._exit(_status(number))


def _status(number: int) -> int:
    """Compute the exit status as shells do; Windows' Ctrl-Break counts as Ctrl-C."""
    return 128 + (signal.SIGINT if number in _INTERRUPTS else number)
