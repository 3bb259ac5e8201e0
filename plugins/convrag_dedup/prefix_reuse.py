"""`metrics=prefix_reuse`: the share of prompt tokens that belong to a prefix sent before."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from convrag import LLM, Measurement, Metrics, Prompt, Report, TurnRecord
from convrag_dedup.stats import TITLE

_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+\Z")

Trie = dict[str, Any]
"""Sequences as paths from the root: a piece -> the trie of what follows it."""


class PromptTokens(NamedTuple):
    """How many tokens prompts have, and how many of them belong to a prefix sent before."""

    total: float
    reused: float


class PrefixReuse(Metrics):
    """The share of prompt tokens that a prefix cache could serve, measured on the requests that were really sent.

    All requests of a conversation go into a trie of words, punctuation and the borders of messages, which gives
    the longest prefix that an earlier request of the conversation has. The llm counts the tokens of that prefix and of
    the whole. The trie holds words, since a stage does not know the tokens, only their number: a real cache ends
    within a word at most once per request, and works in blocks (vLLM: 16 tokens). What conversations have in common
    (the system prompt) counts from a conversation's second request on. Turns that sent nothing are left out.

    Args:
        llm: counts the tokens.
        tasks: only the requests of these tasks ("answer", "rewrite"); empty counts all.
    """

    def __init__(self, *, llm: LLM, tasks: list[str] = []) -> None:  # noqa: B006 - read only
        self.llm = llm
        self.tasks = list(tasks)

    def list_measures(self) -> Sequence[str]:
        return ("prefix_reuse", "prompt_tokens")

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """The turns whose records hold their requests; conversations come one by one."""
        trie: Trie = {}
        conversation = ""
        values: dict[str, dict[str, float]] = {}
        sums: dict[str, PromptTokens] = {}
        for record in records:
            if record.conversation_id != conversation:
                trie, conversation = {}, record.conversation_id
            if counted := self._count_turn(record, trie):
                share = counted.reused / counted.total
                values[record.turn_id] = {"prefix_reuse": share, "prompt_tokens": counted.total}
                before = sums.get(conversation, PromptTokens(0.0, 0.0))
                sums[conversation] = PromptTokens(before.total + counted.total, before.reused + counted.reused)
        return Measurement(values, report=_report(sums))

    def _count_turn(self, record: TurnRecord, trie: Trie) -> PromptTokens | None:
        """The tokens of a turn's requests, which go into the conversation's trie; None if the turn sent nothing."""
        prompts = [prompt for prompt, _ in record.replies if not self.tasks or prompt.task in self.tasks]
        counted = [self._count_request(prompt, trie) for prompt in prompts]
        total, reused = sum(tokens.total for tokens in counted), sum(tokens.reused for tokens in counted)
        return PromptTokens(total, reused) if total else None

    def _count_request(self, prompt: Prompt, trie: Trie) -> PromptTokens:
        """The tokens of a request, counted message by message; the last message of the prefix is counted in part."""
        messages = [list(_split_message(role, content)) for role, content in prompt.messages]
        left = add_sequence(trie, (piece for pieces in messages for piece in pieces))
        total = reused = 0
        for pieces, message in zip(messages, prompt.messages, strict=True):
            whole = self.llm.count_tokens(message.content)
            total += whole
            if left >= len(pieces):
                reused += whole
            elif left > 0:
                reused += min(self.llm.count_tokens("".join(pieces[1:left])), whole)
            left = max(left - len(pieces), 0)
        return PromptTokens(float(total), float(reused))


def _report(conversations: Mapping[str, PromptTokens]) -> Report | None:
    """The share of all prompt tokens together, and of each conversation's."""
    if not (total := sum(tokens.total for tokens in conversations.values())):
        return None
    share = sum(tokens.reused for tokens in conversations.values()) / total
    shares = {name: round(tokens.reused / tokens.total, 4) for name, tokens in conversations.items()}
    line = f"Prefix reuse: {share:.1%} of {total:,.0f} prompt tokens began as an earlier request of the conversation."
    numbers = {"overall": share, "prompt_tokens": total, "by_conversation": shares}
    return Report(TITLE, (line,), {"prefix_reuse": numbers})


def _split_message(role: str, content: str) -> Iterator[str]:
    """A message's role, then its words and punctuation, each with the space before it: joined, they are the content."""
    yield f"<|{role}|>"
    yield from _PIECE.findall(content)


def add_sequence(trie: Trie, pieces: Iterable[str]) -> int:
    """Add a sequence to a trie; gives the length of its longest prefix that an earlier sequence begins with."""
    shared = 0
    known = True
    for piece in pieces:
        known = known and piece in trie
        shared += known
        trie = trie.setdefault(piece, {})
    return shared
