"""The pieces of a model's reply: for a listener, or held back until they may be shown."""

from collections.abc import Callable
from dataclasses import dataclass

from convrag.concurrency.streaming import (
    Stream as Stream,
    current_listener as current_listener,
    listen_with as listen_with,
    notify as notify,
    notify_with as notify_with,
)
from convrag.store.values import mend_surrogates as mend_surrogates


def replace_unusable(text: str) -> str:
    """Replace NUL, which PostgreSQL cannot store, and half a surrogate pair by U+FFFD."""
    return mend_surrogates(text.replace("\0", "\ufffd"))


@dataclass
class HeldPieces:
    """Holds the pieces of a reply back while it may be something that is not shown.

    Args:
        listener: takes the pieces.
        holds: says whether a text, the beginning of the reply, is held back.
        clean: makes the text that is passed on of one that was held back.
        text: the pieces that are held back.
        released: whether pieces pass.
    """

    listener: Callable[[str], object]
    holds: Callable[[str], bool]
    clean: Callable[[str], str] = str
    text: str = ""
    released: bool = False

    def __call__(self, piece: str) -> None:
        """Take the next piece of the reply."""
        if self.released:
            self.listener(piece)
            return
        self.text += piece
        if not self.holds(self.text):
            self.release()

    def release(self) -> None:
        """Pass on what was held back, and from now on every piece at once."""
        if self.released:
            return
        self.released = True
        text = self.clean(self.text)
        if text:
            self.listener(text)
