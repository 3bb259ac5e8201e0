"""A server's reply: a text with its usage; and what a request raises instead, with its status and
when to ask again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from unicodedata import category

from convrag.sdk.retry_after import parse_retry_after

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
    def read(cls, usage: Any) -> TokenCounts:
        """Make the counts from what a server sent, whatever that is; 0 says nothing, too."""
        if not isinstance(usage, dict):
            return cls()
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        prompt, completion = (
            _read_count(usage.get("prompt_tokens")),
            _read_count(usage.get("completion_tokens")),
        )
        return cls(prompt, completion, _read_count(cached) or 0)


@dataclass(frozen=True)
class Reply:
    """A text and its usage; the cost is in US dollars, None where no price is known.

    `finish_reason` is why the model ended the text, as OpenAI names it: stop, length (at
    max_tokens), content_filter.
    """

    text: str
    tokens: TokenCounts
    cost: float | None
    model: str
    finish_reason: str = ""
    first_words: Mapping[str, float] = field(default_factory=dict)


def make_reply(
    text: Any,
    finish_reason: Any,
    tokens: TokenCounts,
    cost: float | None,
    model: Any,
    logprobs: Any = None,
) -> Reply:
    """Make a reply of what a server sent. Raises EmptyReply where the text is none, or shows
    nothing.
    """
    if not isinstance(text, str) or not is_visible(text):
        raise EmptyReply(str(finish_reason), cost)
    return Reply(
        text.strip(),
        tokens,
        cost,
        str(model),
        str(finish_reason or ""),
        _read_first_words(logprobs),
    )


def _read_first_words(logprobs: Any) -> dict[str, float]:
    """The likely first tokens, of the `logprobs` of a choice; none where they have another form."""
    try:
        return {
            each["token"]: float(each["logprob"]) for each in logprobs["content"][0]["top_logprobs"]
        }
    except (TypeError, KeyError, IndexError, ValueError):
        return {}


def read_reply(
    data: Mapping[str, Any], model: str, compute_cost: Callable[[TokenCounts, Any], float | None]
) -> Reply:
    """Make a reply of a whole response.

    Args:
        data: the response, in OpenAI's form as far as can be relied on.
        model: its name, where the response does not say it.
        compute_cost: the cost of these tokens, and of this text where they are not counted.

    Raises:
        EmptyReply: the text is none, or shows nothing.
    """
    choice = next(iter(list_choices(data)), {"finish_reason": "no choices"})
    text = _read_text(choice, "message") or _format_calls(choice.get("message"))
    tokens = TokenCounts.read(data.get("usage"))
    cost, model = compute_cost(tokens, text), data.get("model") or model
    return make_reply(
        text, choice.get("finish_reason"), tokens, cost, model, choice.get("logprobs")
    )


def list_choices(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The choices of a response or of a part of a streamed one."""
    choices = data.get("choices")
    return [each for each in choices if isinstance(each, dict)] if isinstance(choices, list) else []


def _read_text(choice: Mapping[str, Any], part: str) -> Any:
    told = choice.get(part)
    return told.get("content") if isinstance(told, dict) else None


def _format_calls(message: Any) -> str | None:
    """The calls of tools in a whole message as JSON, see `convrag.Completion`; None where there are
    none.
    """
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    asked = (
        [call.get("function") for call in calls if isinstance(call, dict)]
        if isinstance(calls, list)
        else []
    )
    rows = [
        {name: each.get(name) for name in ("name", "arguments")}
        for each in asked
        if isinstance(each, dict)
    ]
    return json.dumps(rows, ensure_ascii=False) if rows else None


class StreamedReply:
    """A streamed reply so far: the text up to the finish reason, and what was said of usage and model.

    Pieces that show nothing wait for the first one that does, so that an empty reply can be asked
    for again.

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

    def read(
        self, chunks: Iterable[Mapping[str, Any]], is_complete: Callable[[], bool] = lambda: True
    ) -> None:
        """Read all chunks.

        Args:
            chunks: in OpenAI's form as far as can be relied on, as they arrive.
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
                self.usage, self.model = (
                    chunk.get("usage") or self.usage,
                    chunk.get("model") or self.model,
                )
                for choice in list_choices(chunk):
                    if not choice.get("index"):
                        self._add(_read_text(choice, "delta"), choice.get("finish_reason"))
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
    """Whether a text has a character that leaves a mark, as spaces and zero-width characters do
    not.
    """
    return any(category(char) not in _INVISIBLE and char not in _BLANKS for char in text)


def _read_count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None


_TOO_LONG = re.compile(
    r"context[\s_-]*(length|window|size|limit)|(prompt|input) is too long"
    r"|number of tokens allowed"  # Gemini
    r"|max_new_tokens. must be <=",  # Together
    re.IGNORECASE,
)
_MAX_READ = 20_000  # characters of an error's message that are searched


class HttpError(Exception):
    """A server answered with an error, or with what is no reply.

    Args:
        status_code: its HTTP status, or the one that what it sent amounts to.
        message: what it says, without the words around it.
        headers: of its response, with names in any case.
    """

    def __init__(
        self, status_code: int, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status_code = status_code
        self.headers = headers or {}
        super().__init__(message)


class ConnectionFailed(Exception):
    """There was no connection, or it broke off."""


class ConnectionRefused(ConnectionFailed):
    """Nothing listens at the address: the server has ended, or was never started."""


class UntrustedServer(Exception):
    """The certificate of a server is not trusted; the request is not repeated."""


class ReplyTooLong(Exception):
    """A server sent more than a reply may have; the request is not repeated."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the reply is longer than {limit / 2**20:g} MB")


class EmptyReply(Exception):
    """The server sent no text that anybody could see, which may have cost something all the same."""

    def __init__(self, finish_reason: str, cost: float | None) -> None:
        self.finish_reason = finish_reason
        self.cost = cost
        super().__init__(f"the reply is empty (finish_reason: {finish_reason})")


class IncompleteStream(Exception):
    """The connection of a streamed reply ended before the reply did."""

    status_code = 502

    def __init__(self) -> None:
        super().__init__("the connection ended in the middle of the reply")


def read_status(error: BaseException) -> int | None:
    """The HTTP status of an error, also of one that litellm gives a status; None for other errors."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later: after rate limits, timeouts, broken connections,
    errors of a server.

    A prompt that is too long stays so, whatever status the server gives it.
    """
    if exceeds_context_window(error):
        return False
    status = read_status(error)
    return isinstance(error, ConnectionFailed) or (
        status is not None and (status in (408, 429) or status >= 500)
    )


def may_have_cost(error: BaseException) -> bool:
    """Whether the model may have written a reply of any length before the error."""
    return read_status(error) == 408 or isinstance(error, ReplyTooLong | IncompleteStream)


def exceeds_context_window(error: BaseException) -> bool:
    """Whether an error says that the request is longer than the model's context window.

    litellm recognises some servers' messages. The others come with any status but 429, whose
    messages count tokens too.
    """
    if type(error).__name__ == "ContextWindowExceededError":
        return True
    return read_status(error) != 429 and bool(_TOO_LONG.search(str(error)[:_MAX_READ]))


def list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and the errors from which it was made."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def read_message(error: BaseException) -> str:
    """The message of an error, without the words that litellm puts before and behind it where a
    stream failed.
    """
    original = getattr(error, "original_exception", None)
    return str(error if original is None else original)


def read_retry_after(error: BaseException | None) -> float | None:
    """Seconds until the server wants to be asked again, from the header Retry-After.

    None where the error has no such header, or one that is neither a number nor a date.
    """
    if isinstance(error, HttpError):
        headers: Any = error.headers
    else:
        response = getattr(error, "response", None)
        headers = getattr(error, "litellm_response_headers", None) or getattr(
            response, "headers", None
        )
    return parse_retry_after(str((headers or {}).get("retry-after") or ""))
