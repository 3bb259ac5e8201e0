"""A server's reply: a text with its usage. An empty or cut-off one is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from unicodedata import category

from convrag_llms.errors import EmptyReply, IncompleteStream, ReplyTooLong

MAX_REPLY_BYTES = 10 * 2**20
"""The longest reply in one piece, after decompression; 128,000 tokens are about half a MB."""

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn", "Me"})  # Unicode's categories
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and a symbol that leave no mark


@dataclass(frozen=True)
class TokenCounts:
    """What a server says of the tokens of a request; None where it says nothing."""

    prompt: int | None = None
    completion: int | None = None
    cached: int = 0

    @classmethod
    def read(cls, prompt: Any, completion: Any, cached: Any) -> TokenCounts:
        """Make the counts from what a server sent, whatever that is; 0 says nothing, too."""
        return cls(_read_count(prompt), _read_count(completion), _read_count(cached) or 0)


@dataclass(frozen=True)
class Reply:
    """A text and its usage; the cost is in US dollars, None where no price is known.

    `finish_reason` is why the model ended the text, as OpenAI names it: stop, length (at max_tokens), content_filter.
    """

    text: str
    tokens: TokenCounts
    cost: float | None
    model: str
    finish_reason: str = ""


def make_reply(text: Any, finish_reason: Any, tokens: TokenCounts, cost: float | None, model: Any) -> Reply:
    """Make a reply of what a server sent. Raises EmptyReply where the text is none, or shows nothing."""
    if not isinstance(text, str) or not is_visible(text):
        raise EmptyReply(str(finish_reason), cost)
    return Reply(text.strip(), tokens, cost, str(model), str(finish_reason or ""))


class Chunk(NamedTuple):
    """What a part of a streamed reply says, as it came: (piece, finish reason) of the first choice; usage and model."""

    choices: list[tuple[Any, Any]]
    usage: Any
    model: Any


class StreamedReply:
    """A streamed reply so far: the text up to the finish reason, and what was said of usage and model.

    Pieces that show nothing wait for the first one that does, so that an empty reply can be asked for again.

    Args:
        on_piece: is given the text, from the first piece on that shows something.
        model: its name, where no chunk says it.
    """

    def __init__(self, on_piece: Callable[[str], None], model: str) -> None:
        self.pieces: list[str] = []
        self.finish_reason = ""
        self.usage: Any = None
        self.model: Any = model
        self._on_piece = on_piece
        self._length = 0
        self._passed_on = 0

    @property
    def text(self) -> str:
        """All pieces as one."""
        return "".join(self.pieces)

    def read(self, chunks: Iterable[Chunk], is_complete: Callable[[], bool] = lambda: True) -> None:
        """Read all chunks.

        Args:
            chunks: as they arrive.
            is_complete: asked at the end: False where a finish reason was added to a stream that broke off.

        Raises:
            IncompleteStream: the chunks end without a finish reason.
            ReplyTooLong: the text is longer than the limit.
            Exception: what `chunks` raises before the reply is complete; after that, only its usage is missing.
        """
        try:
            for chunk in chunks:
                self.usage, self.model = chunk.usage or self.usage, chunk.model or self.model
                for piece, finish_reason in chunk.choices:
                    self._add(piece, finish_reason)
        except Exception:
            if not self.finish_reason or not is_complete():
                raise
        if not self.finish_reason or not is_complete():
            raise IncompleteStream

    def _add(self, piece: Any, finish_reason: Any) -> None:
        if self.finish_reason:
            return
        self.finish_reason = str(finish_reason or "")
        if not isinstance(piece, str) or not piece:
            return
        self.pieces.append(piece)
        self._length += len(piece)
        if self._length > MAX_REPLY_BYTES:
            raise ReplyTooLong(MAX_REPLY_BYTES)
        if self._passed_on or is_visible(piece):
            self._on_piece("".join(self.pieces[self._passed_on :]))
            self._passed_on = len(self.pieces)


def is_visible(text: str) -> bool:
    """Whether a text has a character that leaves a mark, as spaces and zero-width characters do not."""
    return any(category(char) not in _INVISIBLE and char not in _BLANKS for char in text)


def _read_count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None
