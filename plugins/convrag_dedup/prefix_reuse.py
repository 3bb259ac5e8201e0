"""`metrics=prefix_reuse`: the share of prompt tokens that belong to a prefix sent before."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from weakref import WeakSet

from convrag import LLM, Metrics, Prompt, Run, TurnRecord, hookimpl
from convrag_dedup.radix_tree import RadixTree

_OPTION = "prefix_reuse"
_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+\Z")
_metrics: WeakSet[PrefixReuse] = WeakSet()


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
        self._local = threading.local()
        _metrics.add(self)

    def clear(self) -> None:
        """Forget this thread's run: one begins, or is over."""
        self._local.turns = {}
        self._local.trees = {}

    def add_turn(self, record: TurnRecord) -> None:
        """Count the requests of a finished turn, which only now are at hand. Conversations come one by one."""
        if record.conversation_id not in self._local.trees:
            self._local.trees.clear()
        if tokens := self._count_turn(record, self._local.trees):
            self._local.turns[record.conversation_id, record.turn_id] = tokens

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """The turns of this thread's run, or records that hold their requests themselves."""
        trees: dict[str, RadixTree] = {}
        values = {}
        for record in records:
            counted = self._count_turn(record, trees) or self._turns().get((record.conversation_id, record.turn_id))
            if counted:
                values[record.turn_id] = {
                    "prefix_reuse": counted.reused / counted.total,
                    "prompt_tokens": counted.total,
                }
        return values

    def tokens_by_conversation(self) -> dict[str, PromptTokens]:
        """Conversation id -> all tokens that this thread's run has sent in it."""
        sums: dict[str, PromptTokens] = {}
        for (conversation_id, _), tokens in self._turns().items():
            earlier = sums.get(conversation_id, PromptTokens(0.0, 0.0))
            sums[conversation_id] = PromptTokens(earlier.total + tokens.total, earlier.reused + tokens.reused)
        return sums

    def _turns(self) -> Mapping[tuple[str, str], PromptTokens]:
        turns: Mapping[tuple[str, str], PromptTokens] = getattr(self._local, "turns", {})
        return turns

    def _count_turn(self, record: TurnRecord, trees: dict[str, RadixTree]) -> PromptTokens | None:
        """The tokens of a turn's requests, which go into the conversation's tree; None if the turn sent nothing."""
        prompts = [prompt for prompt, _ in record.replies if not self.tasks or prompt.task in self.tasks]
        tree = trees.setdefault(record.conversation_id, RadixTree())
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


@hookimpl
def convrag_run_started(run: Run) -> None:
    """Prepare the run's metric, if it has one."""
    for metric in find_metrics(run):
        metric.clear()


@hookimpl
def convrag_turn_finished(run: Run, record: TurnRecord) -> None:
    """Count the turn's requests, which the files of a run do not keep."""
    for metric in find_metrics(run):
        metric.add_turn(record)


@hookimpl
def convrag_run_finished(run: Run) -> None:
    """Forget the run: its turns must not pass for those of records that are measured later."""
    for metric in find_metrics(run):
        metric.clear()


def find_metrics(run: Run) -> list[PrefixReuse]:
    """The metric of this run, if it has one."""
    fingerprint = run.fingerprints.get(f"metrics.{_OPTION}")
    return [metric for metric in list(_metrics) if fingerprint and metric.fingerprint == fingerprint]


def _split_message(role: str, content: str) -> Iterator[str]:
    """A message's role, then its words and punctuation, each with the space before it: joined, they are the content."""
    yield f"<|{role}|>"
    yield from _PIECE.findall(content)
