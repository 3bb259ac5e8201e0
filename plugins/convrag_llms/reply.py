"""A server's reply in OpenAI's form, whole or streamed: text, thoughts, tokens, finish reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any
from unicodedata import category

from convrag.sdk.llm.streaming import notify
from convrag.sdk.llm.thoughts import ThoughtSplitter
from convrag_llms.errors import MAX_REPLY_BYTES, EmptyReply, IncompleteStream, ReplyTooLong
from convrag_llms.tokens import estimate_tokens

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn", "Me"})
"""Unicode's categories of characters that leave no mark."""

_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and a symbol that leave no mark, either."""


_MOST_TOKENS = 10**9
"""No request has more; a larger number is a mistake of the server's."""


@dataclass(frozen=True)
class TokenCounts:
    """The tokens of a request as the server counts them; None where it does not say."""

    prompt: int | None = None
    completion: int | None = None
    cached: int = 0
    """The part of the prompt's tokens that the provider had in its cache."""
    thoughts: int | None = None
    """The part of the reply's tokens that are thoughts."""

    @classmethod
    def read(cls, usage: Any) -> TokenCounts:
        """Make the counts from the `usage` of a response, whatever its form.

        A count of 0 is taken for a missing one: some servers send it in place of none.
        """
        if not isinstance(usage, dict):
            return cls()
        return cls(
            prompt=read_count(usage.get("prompt_tokens")),
            completion=read_count(usage.get("completion_tokens")),
            cached=_read_detail(usage, "prompt_tokens_details", "cached_tokens") or 0,
            thoughts=_read_detail(usage, "completion_tokens_details", "reasoning_tokens"),
        )


def _read_detail(usage: Mapping[str, Any], details: str, name: str) -> int | None:
    found = usage.get(details)
    return read_count(found.get(name)) if isinstance(found, dict) else None


def read_count(value: Any) -> int | None:
    """Read a number of tokens; None for what can be none, such as 1e400, which is infinite."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 < value <= _MOST_TOKENS else None


@dataclass(frozen=True)
class Reply:
    """A text and its usage.

    Args:
        text: without white space around it, and without thoughts.
        tokens: as the server counts them.
        cost: US dollars; None where no price is known.
        model: its name, as the server says it.
        finish_reason: why the model ended the text, as OpenAI names it: stop, length (at
            max_tokens), content_filter.
        first_words: the likely first tokens and their log probabilities, where they were asked for.
        thoughts: what the model thought before, as far as it says so.
        thought_tokens: the tokens of these thoughts, estimated where the server does not count
            them.
    """

    text: str
    tokens: TokenCounts
    cost: float | None
    model: str
    finish_reason: str = ""
    first_words: Mapping[str, float] = field(default_factory=dict)
    thoughts: str = ""
    thought_tokens: int = 0


class ReplyReader:
    """Reads one reply in OpenAI's form, as far as a server keeps to that form.

    `read_whole` and `read_stream` fill the same attributes; `make_reply` then makes the reply.
    Thoughts are separated from the text here, and nowhere else: those between tags in the text,
    those in fields of their own, and those that are parts of the content.

    Args:
        model: its name, where the server does not say it.
        on_piece: is given the pieces of a streamed text. Pieces that show nothing wait for the
            first one that does, so that an empty reply can be asked for again.
        has_tools: whether the request has tools, so that a call of one is a reply.
        begins_inside: whether the reply may begin inside a thought (see `ThoughtSplitter`).
    """

    def __init__(
        self,
        model: str,
        on_piece: Callable[[str], None] | None = None,
        *,
        has_tools: bool = False,
        begins_inside: bool = False,
    ) -> None:
        self.text: Any = None
        self.finish_reason: Any = None
        self.usage: Any = None
        self.model: Any = model
        self.has_thought_fields = False
        """Whether the server sends thoughts apart from the text."""
        self._splitter = ThoughtSplitter(begins_inside)
        self._has_tools = has_tools
        self._first_words: dict[str, float] = {}
        self._on_piece = on_piece
        self._thoughts: list[str] = []
        self._waiting: list[str] = []
        self._has_passed_on = False
        self._has_notified = False
        self._length = 0

    @property
    def tokens(self) -> TokenCounts:
        """The tokens as far as the server counts them."""
        return TokenCounts.read(self.usage)

    @property
    def thoughts(self) -> str:
        """The thoughts until now."""
        parts = ["".join(self._thoughts).strip(), self._splitter.thoughts]
        return "\n\n".join(part for part in parts if part)

    @property
    def closed_unopened(self) -> bool:
        """Whether a thought ended in the text that had not begun there."""
        return self._splitter.closed_unopened

    @property
    def written(self) -> str:
        """All that the model wrote, for an estimate of its tokens."""
        return "\n".join(part for part in (self.thoughts, self.text or "") if part)

    def read_whole(self, response: Mapping[str, Any]) -> None:
        """Read a response in one piece. Raises HttpError for an error in place of the reply."""
        self._read_about(response)
        choices = list_choices(response)
        if not choices:
            self.finish_reason = "no choices"
            return
        choice = choices[0]
        self.finish_reason = choice.get("finish_reason")
        self._first_words = _read_first_words(choice.get("logprobs"))
        message = choice.get("message")
        if not isinstance(message, dict):
            return
        self._read_parts(message)
        self._splitter.finish(cut=self.finish_reason == "length")
        self.text = self._splitter.text
        calls = format_tool_calls(message) if self._has_tools else None
        if calls:
            self.text = calls

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
        self._pass_on(self._splitter.finish(cut=self.finish_reason == "length"))
        self.text = self._splitter.text

    def make_reply(self, cost: float | None) -> Reply:
        """Make the reply. Raises EmptyReply where the text is missing, or shows nothing.

        Args:
            cost: US dollars of the request; None where no price is known.
        """
        thoughts = self.thoughts
        thought_tokens = self.tokens.thoughts or estimate_tokens(thoughts)
        is_empty = not isinstance(self.text, str) or not is_visible(self.text)
        reply = Reply(
            text="" if is_empty else self.text.strip(),
            tokens=self.tokens,
            cost=cost,
            model=str(self.model),
            finish_reason=str(self.finish_reason or ""),
            first_words=self._first_words,
            thoughts=thoughts,
            thought_tokens=thought_tokens,
        )
        if is_empty:
            written = self.tokens.completion or thought_tokens
            raise EmptyReply(
                str(self.finish_reason),
                cost,
                thought_tokens and written,
                written,
                reply if thoughts else None,
            )
        return reply

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
        if isinstance(delta, dict):
            was_closed = self.closed_unopened
            text = self._read_parts(delta)
            if self._has_passed_on and self.closed_unopened and not was_closed:
                notify("The text until here is a thought, which the answer follows", restarts=True)
            self._pass_on(text)
            self._notify_of_thoughts()

    def _read_parts(self, message: Mapping[str, Any]) -> str:
        """Read the thoughts and the text of a message, or of a piece of one; return the text."""
        thoughts = _read_thought_fields(message)
        text = ""
        for is_thought, part in _list_parts(message.get("content")):
            if is_thought:
                thoughts += part
            else:
                text += part
        if not text:
            text = _read_refusal(message)
        self._length += len(thoughts) + len(text)
        if self._on_piece and self._length > MAX_REPLY_BYTES:
            raise ReplyTooLong(MAX_REPLY_BYTES)
        if thoughts:
            self.has_thought_fields = True
            self._thoughts.append(thoughts)
            self._splitter.expect_text()
        return self._splitter.add(text) if text else ""

    def _pass_on(self, text: str) -> None:
        """Pass text on to the listener, once a part of it is visible."""
        if not text or self._on_piece is None:
            return
        self._waiting.append(text)
        if self._has_passed_on or is_visible(text):
            self._has_passed_on = True
            self._on_piece("".join(self._waiting))
            self._waiting = []

    def _notify_of_thoughts(self) -> None:
        """Say once that the model thinks, to those who wait for its text."""
        is_thinking = bool(self._thoughts) or self._splitter.is_thinking
        if is_thinking and not self._has_notified and not self._has_passed_on:
            self._has_notified = True
            notify("The model thinks")


_THOUGHT_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""The fields of a message that servers put thoughts into; a message has one of them."""

_THOUGHT_PARTS = frozenset({"thinking", "reasoning", "reasoning_content", "thought"})
"""The types of parts of a content that are thoughts."""


def _read_thought_fields(message: Mapping[str, Any]) -> str:
    for name in _THOUGHT_FIELDS:
        text = read_text(message.get(name))
        if text:
            return text
    return ""


def _list_parts(content: Any) -> list[tuple[bool, str]]:
    """List the parts of a content, which may be a text: whether each is a thought, and its text."""
    if not isinstance(content, list):
        return [(False, read_text(content))]
    parts = []
    for part in content:
        is_thought = isinstance(part, dict) and (
            part.get("type") in _THOUGHT_PARTS or part.get("thought") is True
        )
        parts.append((is_thought, read_text(part)))
    return parts


def _read_refusal(message: Mapping[str, Any]) -> str:
    """Read why the model declines; litellm puts it into a field of what only some servers send."""
    others = message.get("provider_specific_fields")
    for fields in (message, others if isinstance(others, dict) else {}):
        if isinstance(fields.get("refusal"), str):
            return str(fields["refusal"])
    return ""


def read_text(value: Any) -> str:
    """Read the text of a value: a text, an object that holds one, or a list of such."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(read_text(each) for each in value)
    if isinstance(value, dict):
        for name in ("text", "refusal", *_THOUGHT_FIELDS, "content"):
            if value.get(name):
                return read_text(value[name])
    return ""


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
        words = {str(each["token"]): float(each["logprob"]) for each in likely}
    except (TypeError, KeyError, IndexError, ValueError, OverflowError):
        return {}
    return {word: logprob for word, logprob in words.items() if isfinite(logprob)}


def format_tool_calls(message: Mapping[str, Any]) -> str | None:
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
