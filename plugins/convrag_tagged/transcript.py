"""The searches of a turn as the model's conversation has them: its replies, and what was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from convrag import Completion, ConfigError, Hit, Message, SearchStep
from convrag.sdk.llm.rewriter import MAX_CHARACTERS
from convrag_tagged.tags import Span, TagPair, cut_before, find_span, is_cut, protect_tags


class Action(NamedTuple):
    """What a model does in a reply.

    Args:
        kind: "search" or "answer".
        text: the query or the answer.
        written: the reply to the end of its action, as the model wrote it: with its thoughts in
            tags, and with the closing tag at which the server stopped.
    """

    kind: Literal["search", "answer"]
    text: str
    written: str


class ReplyPart(NamedTuple):
    """The thoughts of a reply, or its text.

    Args:
        text: the thoughts, or the text.
        before: what the model wrote before it.
        is_last: whether the reply ends with it, so that it may lack a closing tag.
    """

    text: str
    before: str
    is_last: bool


@dataclass(frozen=True)
class SearchFormat:
    """The tags of a model that searches, and the form in which it is shown passages.

    Args:
        query: the tags of a query.
        information: the tags of what was found.
        answer: the tags of the answer; None where a reply without a query is one.
        thoughts: the tags of thoughts.
        inside_thoughts: whether the model searches inside of its thoughts.
        passage: the form of a passage, with {number}, {title} and {text}.
        passages: the most passages of a search that are shown.

    Raises:
        ConfigError: the form of a passage has other fields.
    """

    query: TagPair
    information: TagPair
    answer: TagPair | None
    thoughts: TagPair
    inside_thoughts: bool
    passage: str
    passages: int

    def __post_init__(self) -> None:
        try:
            self.passage.format(number=1, title="", text="")
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            raise ConfigError(
                f"search.passage={self.passage!r}: its fields are {{number}}, {{title}} and "
                f"{{text}} ({type(error).__name__}: {error})"
            ) from error

    @property
    def actions(self) -> list[TagPair]:
        """The tags of a query and of an answer."""
        return [self.query, self.answer] if self.answer else [self.query]

    @property
    def stops(self) -> list[str]:
        """The texts at which a reply ends."""
        return [pair.closing for pair in self.actions]

    def read(self, completion: Completion) -> Action | None:
        """Read what the model does; None where the reply is neither a query nor an answer."""
        thoughts, text = self._split(completion)
        begins_in_thoughts = self.inside_thoughts or self._invents(thoughts.text)
        parts = [thoughts, text] if begins_in_thoughts else [text, thoughts]
        for part in parts:
            span = find_span(part.text, self.actions)
            if span is not None and self._is_whole(span, part, completion):
                action = self._make_action(span, part)
                if action is not None:
                    return action
        if self.answer is None and completion.text and not is_cut(completion):
            return Action("answer", completion.text, text.before + text.text)
        return None

    def write(self, completion: Completion) -> str:
        """Write a reply as the model wrote it, with its thoughts in tags."""
        thoughts, text = self._split(completion)
        part = text if text.text else thoughts
        return part.before + part.text

    def format_information(self, hits: Sequence[Hit]) -> str:
        """Format what a search found as the model is shown it; "None" where it found nothing."""
        lines = []
        for number, hit in enumerate(hits[: self.passages], 1):
            title = self._protect(hit.passage.title)
            text = self._protect(hit.passage.text)
            lines.append(self.passage.format(number=number, title=title, text=text))
        shown = "\n".join(lines) or "None"
        return f"{self.information.opening}{shown}{self.information.closing}"

    def _split(self, completion: Completion) -> tuple[ReplyPart, ReplyPart]:
        """Split a reply into its thoughts and its text."""
        opening = f"{self.thoughts.opening}\n"
        thoughts = ReplyPart(completion.reasoning, opening, not completion.text)
        before = ""
        if completion.reasoning:
            before = f"{opening}{completion.reasoning}\n{self.thoughts.closing}\n"
        return thoughts, ReplyPart(completion.text, before, is_last=True)

    def _invents(self, thoughts: str) -> bool:
        """Whether the model went on after a query as if something had been found.

        All that is before a closing tag of a thought then counts as one, the query too.
        """
        closing = re.escape(self.query.closing.strip())
        opening = re.escape(self.information.opening.strip())
        return re.search(rf"{closing}\s*{opening}", thoughts, re.IGNORECASE) is not None

    def _is_whole(self, span: Span, part: ReplyPart, completion: Completion) -> bool:
        """Whether a span is closed, or ended where the server stopped at its closing tag."""
        return span.is_closed or (part.is_last and not is_cut(completion))

    def _make_action(self, span: Span, part: ReplyPart) -> Action | None:
        """Make the action of a span; None where a query is too long to be one."""
        text = cut_before(span.text, self.information.opening)
        text = " ".join(text.split())
        written = part.before + part.text[: span.end]
        if not span.is_closed:
            written = f"{part.before}{part.text[: span.start]}{span.tags.opening}{text}"
            written += span.tags.closing
        if span.tags != self.query:
            return Action("answer", text, written)
        query = text.strip("\"'“”` ")
        if not query or len(query) > MAX_CHARACTERS:
            return None
        return Action("search", query, written)

    def _protect(self, text: str) -> str:
        """Remove the format's tags from a passage, which could end the information early."""
        return protect_tags(text, [*self.actions, self.information, self.thoughts])


def list_messages(form: SearchFormat, steps: Sequence[SearchStep]) -> list[Message]:
    """List the model's replies and what was found, as messages in turn.

    A search that the model did not ask for is shown as if it had.
    """
    messages = []
    for step in steps:
        queries = " ".join(query.text for query in step.queries)
        unwritten = f"{form.query.opening}{queries}{form.query.closing}"
        written = str(step.trace.get("reply") or unwritten)
        messages.append(Message("assistant", written))
        messages.append(Message("user", form.format_information(step.hits)))
    return messages


def join_messages(messages: Sequence[Message]) -> list[Message]:
    """Join replies and findings into one message of the model's, which it continues."""
    if not messages:
        return []
    text = "\n\n".join(message.content for message in messages)
    return [Message("assistant", f"{text}\n\n")]
