"""The pieces of a model's reply, for those who listen, also held back, and work in a thread as a
stream.
"""

from collections.abc import Callable
from dataclasses import dataclass

from convrag.concurrency.streaming import (
    Stream as Stream,
    current_listener as current_listener,
    listen_with as listen_with,
)
from convrag.store.values import mend_surrogates as mend_surrogates


@dataclass
class HeldPieces:
    """Holds the pieces of a reply back while it may be something that nobody is to hear, then
    passes them on.

    Args:
        listener: takes the pieces.
        holds: whether a text, the beginning of the reply, is held back.
        clean: what is passed on of a text that was held back.
        text: what is held back.
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
        if not self.released:
            self.released = True
            if text := self.clean(self.text):
                self.listener(text)
