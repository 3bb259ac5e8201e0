"""Records of turns, usage, reports and summaries of runs, cells of sweeps. All of it is immutable
plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from convrag.api.answers import Answer
from convrag.api.completions import Completion, Message, Prompt, Usage as Usage
from convrag.api.evidence import Evidence
from convrag.api.passages import Hit
from convrag.api.printable import format_record_html
from convrag.api.queries import Query

RunState = Literal["ok", "partial", "failed"]
"""How a run ended: whole, with something missing, or without a single turn that did not fail."""

EXIT_STATUS: Mapping[RunState, int] = {"ok": 0, "failed": 1, "partial": 3}
"""The exit status of a command whose run ended so."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The record of one turn. `trace`, `timings`, `usage` and `fallbacks` are keyed by stage ("rewriter").

    A turn that failed has an `error`, and the results of the stages before it.

    Args:
        conversation_id: of the conversation.
        turn_id: of the turn.
        domain: the name of the corpus.
        number: of the turn in its conversation, from 1.
        original_query: what the user said.
        queries: what was searched for.
        hits: what was found, best first; `top_k` of them at most.
        evidence: what the model saw.
        answer: what was answered.
        trace: stage -> how its result came about, as plain data.
        timings: stage -> seconds.
        usage: stage -> calls, tokens and costs of models.
        fallbacks: stage -> why it could not do its work.
        error: the stage that failed, and why; empty if none did.
        labels: of the data set.
        replies: the prompts that stages sent to language models, with their replies; only
            task=record writes them to a file.
        reference: the reference answer of the data set; empty where it has none.
        gold: the relevant passages of the data set: passage id -> grade.
        prompt: the messages of the last call that the generator made.
        attempt: counts from 0: a turn that was answered again has another number.
        profile: the personal statements of the user that the stages saw.

    Example:
        >>> queries = (Query("Does my kettle whistle?", turn_id="tea<::>2"),)
        >>> record = TurnRecord("tea", "tea<::>2", "default", 2, "And mine?", queries=queries)
        >>> record.rewritten_query
        'Does my kettle whistle?'
        >>> TurnRecord.from_dict(record.to_dict()) == record
        True
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
        """Return the record as plain data: the fields of a line of a run's intermediate/, which
        JSON can hold.

        A passage stands there once, with its score, in `contexts`; `evidence` names it by its id.
        Numbers that are NaN or infinite are None.

        Args:
            replies: whether to add the prompts and replies of language models, which are long.
        """
        from convrag.api.rows import (
            format_record,  # a command that reads and writes no record does without
        )

        return format_record(self, replies=replies)

    def _repr_html_(self) -> str:
        """Show the record in a notebook."""
        return format_record_html(self)

    @classmethod
    def from_dict(cls, row: Any) -> TurnRecord:
        """Make a record of what `to_dict` gave, or of a line of intermediate/; other keys are left
        aside.

        Raises:
            ValueError: a field is missing or has another form; the message names it.
        """
        from convrag.api.rows import parse_record

        return cls(**parse_record(row))


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its observers see it.

    Args:
        folder: of the run. Its files are there when the run has ended well.
        config: the configuration as plain data. References such as ${oc.env:MY_KEY} are not
            resolved, since observers write it down.
        conversations: how many there are.
        turns: how many there are.
        fingerprints: place -> fingerprint of the stage there.
        notes: of its stages, for a reader of the scores.
        prompts: the templates by place and task ("rewriter.rewrite").
        sweep: the id of the sweep that it belongs to; empty for a single run.
        reused: whether an earlier run of the same command has left these results; its observers
            hear nothing.

    Example:
        >>> Run(Path("outputs/now"), {"rewriter": {"_option_": "mmr"}}, conversations=8, turns=49).sweep
        ''
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
    r"""A report of a stage, a metric or an observer on a whole run. Reports with the same title are joined.

    Args:
        title: what it is about.
        lines: for the summary.
        numbers: plain data; metrics.json holds them under the title.
        files: name -> text; written into the run's folder.

    Example:
        >>> report = Report("Novelty", ("Turn 2 is new: 97 %.",), {"2": 0.97}, {"means.csv": "turn,share\n2,0.97\n"})
        >>> report.numbers["2"]
        0.97
    """

    title: str
    lines: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


class Measurement(dict[str, Mapping[str, float]]):
    """What a metric measured, turn id -> measure -> value, and its report. See `Metrics.measure`.

    Args:
        values: turn id -> measure -> value.
        report: the metric's report on the whole run.

    Example:
        >>> measured = Measurement({"tea<::>1": {"words": 12.0}}, report=Report("Words", ("12 words.",)))
        >>> measured["tea<::>1"], measured.report.lines
        ({'words': 12.0}, ('12 words.',))
    """

    def __init__(
        self, values: Mapping[str, Mapping[str, float]], *, report: Report | None = None
    ) -> None:
        super().__init__(values)
        self.report = report


@dataclass(frozen=True, slots=True)
class Slice:
    """The scores of some of a run's turns: of the turns of a domain, say.

    Args:
        turns: how many of them were scored.
        scores: measure -> value.

    Example:
        >>> Slice(12, {"nDCG@5": 0.41}).scores["nDCG@5"]
        0.41
    """

    turns: int
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The summary of a run.

    Args:
        overall: measure -> score of all turns.
        domains: domain -> measure -> score.
        scored: domain, or "overall" -> turns that were scored.
        turns: how many there are.
        failed: of these, those that failed.
        fallbacks: stage -> turns in which it fell back.
        usage: stage -> calls, tokens and costs of models.
        timings: stage -> seconds.
        seconds: of the whole run.
        reports: title -> the numbers of a report.
        stopped: why the run ended early (at a cost limit, say); empty if it did not.
        intervals: measure -> the ends of the 95 % interval of its overall score.
        slices: "turn" (the position), or a label of the data set -> value -> scores of these turns.
        always_fell_back: stages that fell back in every turn in which they had something to do.
        failed_metrics: metric -> why it has no values, or not all.
        main_measures: one measure of `overall` for each metric that measured something: the one
            that stands for it in a leaderboard (`Metrics.list_measures`).
        judged: turns with relevance judgements; None in results of earlier versions, which did not
            count them.
        referenced: turns with a reference answer; None likewise.

    Example:
        >>> summary = RunSummary({"nDCG@5": 0.5}, {}, {"overall": 4}, 4, 1, {}, {}, {}, seconds=2.5)
        >>> summary.state, summary.exit_status
        ('partial', 3)
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
    judged: int | None = None
    referenced: int | None = None

    @property
    def state(self) -> RunState:
        """How the run ended: "failed" if every turn failed, "partial" if anything is missing, else
        "ok".
        """
        if self.failed == self.turns:
            return "failed"
        missing = self.failed or self.stopped or self.always_fell_back or self.failed_metrics
        return "partial" if missing else "ok"

    @property
    def exit_status(self) -> int:
        """The exit status of a command whose run ended so: 0, 1 (failed) or 3 (partial)."""
        return EXIT_STATUS[self.state]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of a grid.

    Args:
        id: stands for its overrides, and is the name of its folder.
        overrides: as they were typed ("rewriter=mmr", "top_k=20").
        folder: of its run.
        state: "ok", "reused" (finished by an earlier run of the same command), "partial" (some of
            its turns failed; the same command runs it again), "failed", "same" (it is the same
            experiment as the cell whose id is `same_as`, and is not run), or empty while it is to
            come.
        error: why it failed, or what a partial one lacks.
        name: what people call it: the overrides in which it differs from other cells.
        same_as: the id of the cell that is the same experiment.

    Example:
        >>> Cell("3f9a", ("rewriter=mmr", "top_k=20"), Path("outputs/sweeps/1/3f9a"), "ok", name="rewriter=mmr").state
        'ok'
    """

    id: str
    overrides: tuple[str, ...]
    folder: Path
    state: str = ""
    error: str = ""
    name: str = ""
    same_as: str = ""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A grid as its observers see it.

    Args:
        id: stands for the command: the same command again is the same sweep.
        folder: of the grid.
        cells: in the order in which they are run.
        config: what all cells have in common, as plain data.
        interrupted: whether the end came before the last cell.
        notes: which factors made no difference to which cells.

    Example:
        >>> cell = Cell("3f9a", ("top_k=20",), Path("outputs/sweeps/1/3f9a"))
        >>> sweep = Sweep("77ab", Path("outputs/sweeps/1"), (cell,))
        >>> [cell.state for cell in sweep.cells]
        ['']
    """

    id: str
    folder: Path
    cells: tuple[Cell, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    notes: tuple[str, ...] = ()
