"""Records of turns, usage, reports and summaries of runs, cells of sweeps. All of it is immutable plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from convrag.api.types import Answer, Completion, Evidence, Hit, Message, Prompt, Query

RunState = Literal["ok", "partial", "failed"]
"""How a run ended: whole, with something missing, or without a single turn that did not fail."""

EXIT_STATUS: Mapping[RunState, int] = {"ok": 0, "failed": 1, "partial": 3}
"""The exit status of a command whose run ended so."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The calls, tokens, costs and times of one stage in one turn.

    `calls` were made in this run, and `failed` of them raised an error; `reused` ones were answered from the store.
    Tokens count for both. `cached_tokens`
    are prompt tokens that the provider had cached. `cost_usd` is what all calls cost when they were made, `spent_usd`
    what was spent in this run; `unpriced` is the number of replies without a known price. `seconds` is the time spent
    waiting for replies in this run, `reused_seconds` the time that the reused calls took when they were made, if known.
    `cut` and `filtered` count the replies that ended at max_tokens and by the provider's content filter.
    """

    calls: int = 0
    reused: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    spent_usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    retries: int = 0
    reused_seconds: float = 0.0
    failed: int = 0
    cut: int = 0
    filtered: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The record of one turn. `trace`, `timings` (seconds), `usage` and `fallbacks` are keyed by stage.

    A turn that failed has an `error`, and the results of the stages before it. `labels`, the `reference` answer and the
    relevant passages `gold` (passage id -> grade) come from the data set. `prompt` holds the messages of the last call
    that the generator made. `attempt` counts from 0: a turn that was answered again has another number. `profile` are
    the personal statements of the user that the stages saw.
    `replies` are the prompts that stages sent to language models, with their replies; only
    task=record writes them to a file.
    """

    conversation_id: str
    turn_id: str
    domain: str
    number: int
    original_query: str
    queries: tuple[Query, ...] = ()
    hits: tuple[Hit, ...] = ()
    evidence: Evidence = Evidence()
    answer: Answer = Answer("")
    trace: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    labels: Mapping[str, Any] = field(default_factory=dict)
    replies: tuple[tuple[Prompt, Completion], ...] = field(default=(), repr=False)
    reference: str = ""
    gold: Mapping[str, int] = field(default_factory=dict)
    prompt: tuple[Message, ...] = field(default=(), repr=False)
    attempt: int = 0
    profile: tuple[str, ...] = ()

    @property
    def rewritten_query(self) -> str:
        """The text of the first query; the original question if there is none."""
        return self.queries[0].text if self.queries else self.original_query

    def to_dict(self, *, replies: bool = False) -> dict[str, Any]:
        """Return the record as plain data: the fields of a line of a run's intermediate/, which JSON can hold.

        A passage stands there once, with its score, in `contexts`; `evidence` names it by its id. Numbers that are NaN
        or infinite are None.

        Args:
            replies: whether to add the prompts and replies of language models, which are long.
        """
        from convrag.api.record_fields import format_record

        return format_record(self, replies=replies)

    def _repr_html_(self) -> str:
        """Show the record in a notebook."""
        from convrag.api.record_html import format_record_html

        return format_record_html(self)

    @classmethod
    def from_dict(cls, row: Any) -> TurnRecord:
        """Make a record of what `to_dict` gave, or of a line of intermediate/; other keys are left aside.

        Raises:
            ValueError: a field is missing or has another form; the message names it.
        """
        from convrag.api.record_fields import parse_record

        return parse_record(row)


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its observers see it: its folder, its configuration and its size.

    In `config`, references such as ${oc.env:MY_KEY} are not resolved, since observers write it down.
    `notes` are the notes of its stages for a reader of the scores; `prompts` holds the prompt templates by place and
    task ("rewriter.rewrite"). `sweep` is the id of the sweep that the run belongs to; it is empty for a single run.
    `reused` says that an earlier run of the same command has left these results; its observers hear nothing.
    """

    folder: Path
    config: Mapping[str, Any]
    conversations: int
    turns: int
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    prompts: Mapping[str, str] = field(default_factory=dict)
    sweep: str = ""
    reused: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A report of a stage, a metric or an observer on a whole run.

    The summary shows the `lines`. metrics.json holds the `numbers` (plain data) under the `title`. The `files` (name ->
    text) are written into the run's folder. Reports with the same title are joined.
    """

    title: str
    lines: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


class Measurement(dict[str, Mapping[str, float]]):
    """The values of a metric (turn id -> measure -> value), with an optional report on the run.

        return Measurement(values, report=Report("judging", lines))

    Args:
        values: turn id -> measure -> value.
        report: the metric's report on the whole run.
    """

    def __init__(self, values: Mapping[str, Mapping[str, float]], *, report: Report | None = None) -> None:
        super().__init__(values)
        self.report = report


@dataclass(frozen=True, slots=True)
class Slice:
    """The scores of some of a run's turns (those of a domain, say), and how many of them were scored."""

    turns: int
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The summary of a run: scores overall and per domain, counts, usage, and the numbers of reports by title.

    `intervals` are the 95 % intervals of the overall scores. `slices` are the scores by turn position ("turn") and by
    the value of each label of the data set. `stopped` says why the run ended early (say, at a cost limit); it is empty
    if it did not. `fallbacks` counts, by stage, the turns in which it fell back; `always_fell_back` names the stages
    that did so in every turn in which they had something to do. `failed_metrics` says why a metric has no values, or
    not all: metric -> reason. `main_measures` has one measure of `overall` for each metric that measured something: the
    one that stands for it in a leaderboard (`Metrics.list_measures`).
    """

    overall: Mapping[str, float]
    domains: Mapping[str, Mapping[str, float]]
    scored: Mapping[str, int]
    turns: int
    failed: int
    fallbacks: Mapping[str, int]
    usage: Mapping[str, Usage]
    timings: Mapping[str, float]
    seconds: float
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    stopped: str = ""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    slices: Mapping[str, Mapping[str, Slice]] = field(default_factory=dict)
    always_fell_back: tuple[str, ...] = ()
    failed_metrics: Mapping[str, str] = field(default_factory=dict)
    main_measures: tuple[str, ...] = ()

    @property
    def state(self) -> RunState:
        """How the run ended: "failed" if every turn failed, "partial" if anything is missing, else "ok"."""
        if self.failed == self.turns:
            return "failed"
        missing = self.failed or self.stopped or self.always_fell_back or self.failed_metrics
        return "partial" if missing else "ok"

    @property
    def exit_status(self) -> int:
        """The exit status of a command whose run ended so: 0, 1 (failed) or 3 (partial)."""
        return EXIT_STATUS[self.state]
