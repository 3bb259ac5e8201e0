"""Threads that wait for a key that another process has locked in PostgreSQL are woken when it is free."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import md5

import psycopg

from convrag.api.errors import ConvragError
from convrag.store.forking import ForkAware
from convrag.store.postgres_connections import Connection

CHANNEL = "convrag_unlock"
"""A holder that frees a key which another process waits for sends the MD5 of the key to this channel."""

CHECK_SECONDS = 0.5
"""How often it is asked whether holders have died without a word, in one statement for all threads that wait."""

_LINGER = 5.0
"""Seconds for which the thread listens on when nobody waits."""


class UnlockListener(ForkAware):
    """Listens in a thread of its own, with a connection of its own, while threads wait.

    Args:
        connect: opens a connection.
        find_free: those of some keys that nobody holds, or a process that has died.
    """

    def __init__(self, connect: Callable[[], Connection], find_free: Callable[[Sequence[str]], list[str]]) -> None:
        self._connect = connect
        self._find_free = find_free
        self._waiting: dict[threading.Event, str] = {}
        """The event of each thread that waits -> the key that it waits for."""
        self._thread: threading.Thread | None = None
        self._listening = threading.Event()
        super().__init__()

    @contextmanager
    def wake_for(self, key: str) -> Iterator[threading.Event]:
        """Give an event that is set when the key may be free; it may be set for nothing.

        It listens already where the block begins: ask once more there whether the key is free.
        """
        event = threading.Event()
        with self._guard:
            self._waiting[event] = key
            if self._thread is None:
                self._listening = threading.Event()
                self._thread = threading.Thread(target=self._listen, name="unlocked keys", daemon=True)
                self._thread.start()
            listening = self._listening
        try:
            listening.wait()
            yield event
        finally:
            with self._guard:
                self._waiting.pop(event, None)

    def _reset_in_child(self) -> None:
        self._waiting = {}
        self._thread = None
        self._listening = threading.Event()

    def _listen(self) -> None:
        idle_since = time.monotonic()
        while True:
            with suppress(psycopg.Error, OSError), self._connect() as connection:
                connection.execute(f"LISTEN {CHANNEL}")
                self._listening.set()
                while True:
                    for told in connection.notifies(timeout=CHECK_SECONDS):
                        self._wake_hashed(str(told.payload))
                    if keys := self._list_keys():
                        idle_since = time.monotonic()
                        with suppress(ConvragError):  # those who wait will find it out
                            free = set(self._find_free(keys))
                            self._wake(free.__contains__)
                    elif self._may_end(idle_since):
                        return
            self._listening.set()
            self._wake(lambda key: True)  # who waits tries the server again, and says what is wrong with it
            if self._may_end(idle_since):
                return
            time.sleep(CHECK_SECONDS)

    def _wake(self, is_meant: Callable[[str], bool]) -> None:
        with self._guard:
            for event, key in self._waiting.items():
                if is_meant(key):
                    event.set()

    def _wake_hashed(self, hashed: str) -> None:
        self._wake(lambda key: hash_key(key) == hashed)

    def _list_keys(self) -> list[str]:
        with self._guard:
            return sorted(set(self._waiting.values()))

    def _may_end(self, idle_since: float) -> bool:
        with self._guard:
            if self._waiting or time.monotonic() < idle_since + _LINGER:
                return False
            self._thread = None
            return True


def hash_key(key: str) -> str:
    """The hash of a key, as PostgreSQL's md5() gives it: a notification has no room for long keys."""
    return md5(key.encode(), usedforsecurity=False).hexdigest()
