"""`metrics=prefix_reuse`: the share of prompt tokens that belong to a prefix sent before."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from convrag import LLM, Measurement, Metrics, Prompt, Report, TurnRecord
from convrag_dedup.stats import TITLE

_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+\Z")


class PromptTokens(NamedTuple):
    """How many tokens prompts have, and how many of them belong to a prefix sent before."""

    total: float
    reused: float


class PrefixReuse(Metrics):
    """The share of prompt tokens that a prefix cache could serve, measured on the requests that were really sent.

    All requests of a conversation go into a radix tree over words, punctuation and the borders of messages, which gives
    the longest prefix that an earlier request of the conversation has. The llm counts the tokens of that prefix and of
    the whole. The tree holds words, since a stage does not know the tokens, only their number: a real cache ends
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
        tree, conversation = RadixTree(), ""
        values: dict[str, dict[str, float]] = {}
        sums: dict[str, PromptTokens] = {}
        for record in records:
            if record.conversation_id != conversation:
                tree, conversation = RadixTree(), record.conversation_id
            if counted := self._count_turn(record, tree):
                share = counted.reused / counted.total
                values[record.turn_id] = {"prefix_reuse": share, "prompt_tokens": counted.total}
                before = sums.get(conversation, PromptTokens(0.0, 0.0))
                sums[conversation] = PromptTokens(before.total + counted.total, before.reused + counted.reused)
        return Measurement(values, report=_report(sums))

    def _count_turn(self, record: TurnRecord, tree: RadixTree) -> PromptTokens | None:
        """The tokens of a turn's requests, which go into the conversation's tree; None if the turn sent nothing."""
        prompts = [prompt for prompt, _ in record.replies if not self.tasks or prompt.task in self.tasks]
        counted = [self._count_request(prompt, tree) for prompt in prompts]
        total, reused = sum(tokens.total for tokens in counted), sum(tokens.reused for tokens in counted)
        return PromptTokens(total, reused) if total else None

    def _count_request(self, prompt: Prompt, tree: RadixTree) -> PromptTokens:
        """The tokens of a request, counted message by message; the last message of the prefix is counted in part."""
        messages = [list(_split_message(role, content)) for role, content in prompt.messages]
        left = tree.add([piece for pieces in messages for piece in pieces])
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


class RadixTree:
    """Sequences as paths from the root; a node holds a run of tokens, as in SGLang's RadixAttention (Zheng, 2024)."""

    def __init__(self) -> None:
        self._root = _Node(())

    def add(self, tokens: Sequence[Hashable]) -> int:
        """Add a sequence; gives the length of its longest prefix that an earlier sequence begins with."""
        node, position = self._root, 0
        while position < len(tokens):
            child = node.children.get(tokens[position])
            if child is None:
                node.children[tokens[position]] = _Node(tuple(tokens[position:]))
                break
            shared = _count_shared(child.run, tokens, position)
            position += shared
            if shared < len(child.run):
                child.split(shared)
                if position < len(tokens):
                    child.children[tokens[position]] = _Node(tuple(tokens[position:]))
                break
            node = child
        return position


class _Node:
    """A run of tokens, and what follows it, by first token."""

    def __init__(self, run: tuple[Hashable, ...]) -> None:
        self.run = run
        self.children: dict[Hashable, _Node] = {}

    def split(self, length: int) -> None:
        """Keep the first tokens of the run, and move the others to a new child."""
        rest = _Node(self.run[length:])
        rest.children = self.children
        self.run, self.children = self.run[:length], {rest.run[0]: rest}


def _count_shared(run: tuple[Hashable, ...], tokens: Sequence[Hashable], start: int) -> int:
    """How many tokens of the run are those of the sequence from `start` on."""
    length = 0
    for ours, theirs in zip(run, tokens[start : start + len(run)], strict=False):
        if ours != theirs:
            break
        length += 1
    return length
