"""`metrics=prefix_reuse`: the share of prompt tokens that a prefix cache could serve."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from convrag import LLM, Measurement, Metrics, Prompt, Report, TurnRecord
from convrag_dedup.dedup_metrics import TITLE

_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+\Z")

Trie = dict[str, Any]
"""Sequences as paths from the root: a piece -> the trie of what follows it."""


class PromptTokens(NamedTuple):
    """The number of tokens of prompts.

    Args:
        total: all tokens.
        reused: tokens of a prefix that was sent before.
    """

    total: float
    reused: float


class PrefixReuse(Metrics):
    """The share of prompt tokens that a prefix cache could serve, in the requests that were sent.

    All requests of a conversation go into a trie of words, punctuation and the borders of messages,
    which gives the longest prefix that an earlier request of the conversation has. The llm counts
    the tokens of that prefix and of the whole. The trie holds words, since a stage does not know
    the tokens, only their number: a real cache ends within a word at most once per request, and
    works in blocks (vLLM: 16 tokens). What conversations have in common (the system prompt) counts
    from a conversation's second request on. Turns that sent nothing are left out.

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
        """Measure the turns whose records have their requests; conversations come one by one."""
        trie: Trie = {}
        conversation = ""
        values: dict[str, dict[str, float]] = {}
        sums: dict[str, PromptTokens] = {}
        for record in records:
            if record.conversation_id != conversation:
                conversation = record.conversation_id
                trie = {}
            counted = self._count_turn(record, trie)
            if counted.total:
                share = counted.reused / counted.total
                values[record.turn_id] = {"prefix_reuse": share, "prompt_tokens": counted.total}
                before = sums.get(conversation, PromptTokens(0.0, 0.0))
                sums[conversation] = _add_tokens([before, counted])
        return Measurement(values, report=_report(sums))

    def _count_turn(self, record: TurnRecord, trie: Trie) -> PromptTokens:
        """Count the tokens of a turn's requests, and add these to the conversation's trie."""
        prompts = [prompt for prompt, _ in record.replies]
        if self.tasks:
            prompts = [prompt for prompt in prompts if prompt.task in self.tasks]
        return _add_tokens([self._count_request(prompt, trie) for prompt in prompts])

    def _count_request(self, prompt: Prompt, trie: Trie) -> PromptTokens:
        """Count the tokens of a request, message by message.

        The last message of the prefix is counted in part.
        """
        split_messages = [list(_split_message(role, content)) for role, content in prompt.messages]
        shared = add_sequence(trie, chain.from_iterable(split_messages))
        total = 0
        reused = 0
        for pieces, message in zip(split_messages, prompt.messages, strict=True):
            tokens = self.llm.count_tokens(message.content)
            total += tokens
            if shared >= len(pieces):
                reused += tokens
            elif shared > 0:
                beginning = "".join(pieces[1:shared])
                reused += min(self.llm.count_tokens(beginning), tokens)
            shared = max(shared - len(pieces), 0)
        return PromptTokens(float(total), float(reused))


def _report(conversations: Mapping[str, PromptTokens]) -> Report | None:
    """Report the share of all prompt tokens together, and of those of each conversation."""
    tokens = _add_tokens(conversations.values())
    if not tokens.total:
        return None
    share = tokens.reused / tokens.total
    shares = {name: round(each.reused / each.total, 4) for name, each in conversations.items()}
    line = (
        f"Prefix reuse: {share:.1%} of {tokens.total:,.0f} prompt tokens began as an earlier "
        "request of the conversation."
    )
    numbers = {"overall": share, "prompt_tokens": tokens.total, "by_conversation": shares}
    return Report(TITLE, (line,), {"prefix_reuse": numbers})


def _add_tokens(counted: Iterable[PromptTokens]) -> PromptTokens:
    total = 0.0
    reused = 0.0
    for tokens in counted:
        total += tokens.total
        reused += tokens.reused
    return PromptTokens(total, reused)


def _split_message(role: str, content: str) -> Iterator[str]:
    """Yield a message's role, then its words and punctuation, each with the space before it."""
    yield f"<|{role}|>"
    yield from _PIECE.findall(content)


def add_sequence(trie: Trie, pieces: Iterable[str]) -> int:
    """Add a sequence to a trie.

    Returns the length of its longest prefix that an earlier sequence begins with.
    """
    shared = 0
    is_known = True
    for piece in pieces:
        is_known = is_known and piece in trie
        if is_known:
            shared += 1
        trie = trie.setdefault(piece, {})
    return shared
