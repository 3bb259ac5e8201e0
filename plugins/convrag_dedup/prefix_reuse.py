"""`metrics=prefix_reuse`: what share of the prompt tokens that were sent is a beginning sent before."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from weakref import WeakSet

from convrag import LLM, Metrics, Prompt, Run, TurnRecord, hookimpl
from convrag_dedup.radix_tree import RadixTree

_NAME = "prefix_reuse"
_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+\Z")
_watching: WeakSet[PrefixReuse] = WeakSet()


class Sent(NamedTuple):
    """Tokens of a turn's prompts, and how many of them were a prefix sent before."""

    tokens: float
    reused: float


class PrefixReuse(Metrics):
    """The share of prompt tokens that a prefix cache could serve, on the requests that were really sent.

    All requests of a conversation go into a radix tree over words, signs and the borders of messages; what of a
    request lies on a path that is there is a prefix seen before in that conversation. The llm counts the tokens of that
    prefix and of the whole. Words, since a stage has no tokens to show, only their number: a real cache cuts in the
    middle of a word at most once per request, and in blocks (vLLM: 16 tokens). What conversations share among each
    other (the system prompt) counts from a conversation's second request on. Turns that sent nothing are left out.

    Args:
        llm: counts the tokens.
        tasks: only the requests of these tasks ("answer", "rewrite"); empty counts all.
    """

    def __init__(self, *, llm: LLM, tasks: list[str] = []) -> None:  # noqa: B006 - read only
        self.llm = llm
        self.tasks = list(tasks)
        self._here = threading.local()
        _watching.add(self)

    def begin(self) -> None:
        """A run begins, or is over, in this thread."""
        self._here.turns = {}
        self._here.trees = {}

    def watch(self, record: TurnRecord) -> None:
        """A turn of this thread's run is over; its requests are at hand only now. Conversations come one by one."""
        if record.conversation_id not in self._here.trees:
            self._here.trees.clear()
        if sent := self._measured(record, self._here.trees):
            self._here.turns[record.conversation_id, record.turn_id] = sent

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Of the turns of this thread's run; or of records that hold their requests themselves."""
        trees: dict[str, RadixTree] = {}
        values = {}
        for record in records:
            if sent := self._measured(record, trees) or self._turns().get((record.conversation_id, record.turn_id)):
                values[record.turn_id] = {"prefix_reuse": sent.reused / sent.tokens, "prompt_tokens": sent.tokens}
        return values

    def pooled(self) -> dict[str, Sent]:
        """Conversation id -> all tokens that this thread's run has sent in it."""
        sums: dict[str, Sent] = {}
        for (conversation_id, _), sent in self._turns().items():
            before = sums.get(conversation_id, Sent(0.0, 0.0))
            sums[conversation_id] = Sent(before.tokens + sent.tokens, before.reused + sent.reused)
        return sums

    def _turns(self) -> Mapping[tuple[str, str], Sent]:
        turns: Mapping[tuple[str, str], Sent] = getattr(self._here, "turns", {})
        return turns

    def _measured(self, record: TurnRecord, trees: dict[str, RadixTree]) -> Sent | None:
        prompts = [prompt for prompt, _ in record.replies if not self.tasks or prompt.task in self.tasks]
        tree = trees.setdefault(record.conversation_id, RadixTree())
        counted = [self._count(prompt, tree) for prompt in prompts]
        tokens, reused = sum(sent.tokens for sent in counted), sum(sent.reused for sent in counted)
        return Sent(tokens, reused) if tokens else None

    def _count(self, prompt: Prompt, tree: RadixTree) -> Sent:
        """Count a request as the llm does, message by message; the message in which it leaves the tree, up to there."""
        messages = [list(_pieces(role, content)) for role, content in prompt.messages]
        left = tree.add([piece for pieces in messages for piece in pieces])
        tokens = reused = 0
        for pieces, message in zip(messages, prompt.messages, strict=True):
            whole = self.llm.count_tokens(message.content)
            tokens += whole
            if left >= len(pieces):
                reused += whole
            elif left > 0:
                reused += min(self.llm.count_tokens("".join(pieces[1:left])), whole)
            left = max(left - len(pieces), 0)
        return Sent(float(tokens), float(reused))


@hookimpl
def convrag_run_started(run: Run) -> None:
    """Let the metric of this run, if it has one, know."""
    for metric in chosen(run):
        metric.begin()


@hookimpl
def convrag_turn_finished(run: Run, record: TurnRecord) -> None:
    """Hand it the turn, whose requests the files of a run do not keep."""
    for metric in chosen(run):
        metric.watch(record)


@hookimpl
def convrag_run_finished(run: Run) -> None:
    """Forget the run: its turns must not pass for those of records that are measured later."""
    for metric in chosen(run):
        metric.begin()


def chosen(run: Run) -> list[PrefixReuse]:
    """The metric of this run, if it has one."""
    fingerprint = run.fingerprints.get(f"metrics.{_NAME}")
    return [metric for metric in list(_watching) if fingerprint and metric.fingerprint == fingerprint]


def _pieces(role: str, content: str) -> Iterator[str]:
    """A message as tokens: its role, and words and signs with the space before them, which joined are the content."""
    yield f"<|{role}|>"
    yield from _PIECE.findall(content)
