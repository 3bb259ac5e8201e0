"""A server's reply in OpenAI's form, whole or streamed: text, token counts, finish reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from unicodedata import category

from convrag_llms.errors import MAX_REPLY_BYTES, EmptyReply, IncompleteStream, ReplyTooLong

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn", "Me"})
"""Unicode's categories of characters that leave no mark."""

_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and a symbol that leave no mark, either."""


@dataclass(frozen=True)
class TokenCounts:
    """The tokens of a request as the server counts them; None where it does not say."""

    prompt: int | None = None
    completion: int | None = None
    cached: int = 0
    """The part of the prompt's tokens that the provider had in its cache."""

    @classmethod
    def read(cls, usage: Any) -> TokenCounts:
        """Make the counts from the `usage` of a response, whatever its form.

        A count of 0 is taken for a missing one: some servers send it in place of none.
        """
        if not isinstance(usage, dict):
            return cls()
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return cls(
            prompt=_read_count(usage.get("prompt_tokens")),
            completion=_read_count(usage.get("completion_tokens")),
            cached=_read_count(cached) or 0,
        )


def _read_count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None


@dataclass(frozen=True)
class Reply:
    """A text and its usage.

    Args:
        text: without white space around it.
        tokens: as the server counts them.
        cost: US dollars; None where no price is known.
        model: its name, as the server says it.
        finish_reason: why the model ended the text, as OpenAI names it: stop, length (at
            max_tokens), content_filter.
        first_words: the likely first tokens and their log probabilities, where they were asked for.
    """

    text: str
    tokens: TokenCounts
    cost: float | None
    model: str
    finish_reason: str = ""
    first_words: Mapping[str, float] = field(default_factory=dict)


class ReplyReader:
    """Reads one reply in OpenAI's form, as far as a server keeps to that form.

    `read_whole` and `read_stream` fill the same attributes; `make_reply` then makes the reply.

    Args:
        model: its name, where the server does not say it.
        on_piece: is given the pieces of a streamed text. Pieces that show nothing wait for the
            first one that does, so that an empty reply can be asked for again.
    """

    def __init__(self, model: str, on_piece: Callable[[str], None] | None = None) -> None:
        self.text: Any = None
        self.finish_reason: Any = None
        self.usage: Any = None
        self.model: Any = model
        self._first_words: dict[str, float] = {}
        self._on_piece = on_piece
        self._pieces: list[str] = []
        self._length = 0
        self._passed_on = 0

    @property
    def tokens(self) -> TokenCounts:
        """The tokens as far as the server counts them."""
        return TokenCounts.read(self.usage)

    def read_whole(self, response: Mapping[str, Any]) -> None:
        """Read a response in one piece."""
        self._read_about(response)
        choices = list_choices(response)
        if not choices:
            self.finish_reason = "no choices"
            return
        message = choices[0].get("message")
        if isinstance(message, dict):
            self.text = message.get("content") or _format_tool_calls(message)
        self.finish_reason = choices[0].get("finish_reason")
        self._first_words = _read_first_words(choices[0].get("logprobs"))

    def read_stream(
        self, chunks: Iterable[Mapping[str, Any]], is_complete: Callable[[], bool] = lambda: True
    ) -> None:
        """Read a streamed response.

        Args:
            chunks: as they arrive.
            is_complete: asked at the end: False where a finish reason was added to a stream that
                broke off.

        Raises:
            IncompleteStream: the chunks end without a finish reason.
            ReplyTooLong: the text is longer than the limit.
            Exception: what `chunks` raises before the reply is complete; after that, only its usage
                is missing.
        """
        try:
            for chunk in chunks:
                self._read_about(chunk)
                for choice in list_choices(chunk):
                    if not choice.get("index"):
                        self._read_piece(choice)
        except Exception:
            if not self.finish_reason or not is_complete():
                raise
        if not self.finish_reason or not is_complete():
            raise IncompleteStream
        self.text = "".join(self._pieces)

    def make_reply(self, cost: float | None) -> Reply:
        """Make the reply. Raises EmptyReply where the text is missing, or shows nothing.

        Args:
            cost: US dollars of the request; None where no price is known.
        """
        if not isinstance(self.text, str) or not is_visible(self.text):
            raise EmptyReply(str(self.finish_reason), cost)
        return Reply(
            text=self.text.strip(),
            tokens=self.tokens,
            cost=cost,
            model=str(self.model),
            finish_reason=str(self.finish_reason or ""),
            first_words=self._first_words,
        )

    def _read_about(self, response: Mapping[str, Any]) -> None:
        """Read what a response or a chunk says of the whole reply."""
        self.usage = response.get("usage") or self.usage
        self.model = response.get("model") or self.model

    def _read_piece(self, choice: Mapping[str, Any]) -> None:
        """Read a choice of a chunk; what follows the finish reason is not part of the text."""
        if self.finish_reason:
            return
        self.finish_reason = choice.get("finish_reason")
        self._first_words = self._first_words or _read_first_words(choice.get("logprobs"))
        delta = choice.get("delta")
        piece = delta.get("content") if isinstance(delta, dict) else None
        if isinstance(piece, str) and piece:
            self._add(piece)

    def _add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length > MAX_REPLY_BYTES:
            raise ReplyTooLong(MAX_REPLY_BYTES)
        if self._on_piece and (self._passed_on or is_visible(piece)):
            self._on_piece("".join(self._pieces[self._passed_on :]))
            self._passed_on = len(self._pieces)


def list_choices(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the choices of a response, or of a chunk of a streamed one."""
    choices = response.get("choices")
    if not isinstance(choices, list):
        return []
    return [choice for choice in choices if isinstance(choice, dict)]


def is_visible(text: str) -> bool:
    """Whether a text has a character that leaves a mark, as spaces do not."""
    return any(category(char) not in _INVISIBLE and char not in _BLANKS for char in text)


def _read_first_words(logprobs: Any) -> dict[str, float]:
    """Read the likely first tokens from a choice's `logprobs`; none from another form."""
    try:
        likely = logprobs["content"][0]["top_logprobs"]
        return {each["token"]: float(each["logprob"]) for each in likely}
    except (TypeError, KeyError, IndexError, ValueError):
        return {}


def _format_tool_calls(message: Mapping[str, Any]) -> str | None:
    """Format a message's tool calls as JSON (see `convrag.Completion`); None without any."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return None
    functions = [call.get("function") for call in calls if isinstance(call, dict)]
    rows = [
        {"name": function.get("name"), "arguments": function.get("arguments")}
        for function in functions
        if isinstance(function, dict)
    ]
    return json.dumps(rows, ensure_ascii=False) if rows else None
