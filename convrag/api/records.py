"""Records of turns, reports, summaries of runs, cells of sweeps. All are immutable plain data."""

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
"""The end of a run: whole, with something missing, or with nothing but failed turns."""

EXIT_STATUS: Mapping[RunState, int] = {"ok": 0, "failed": 1, "partial": 3}
"""State of a run -> the exit status of its command."""


REASONING = "reasoning"
"""The entry of a stage's trace that has the thoughts of its models; they are shown folded."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The record of one turn.

    `trace`, `timings`, `usage` and `fallbacks` are keyed by stage ("rewriter"). A turn that failed
    has an `error`, and the results of the stages before it.

    Args:
        conversation_id: the id of the conversation.
        turn_id: the id of the turn.
        domain: the name of the corpus.
        number: the number of the turn in its conversation, from 1.
        original_query: the user's utterance.
        queries: the queries of the search.
        hits: the passages that were found, best first; `top_k` of them at most.
        evidence: the passages as the model saw them.
        answer: the answer.
        trace: stage -> how its result came about, as plain data.
        timings: stage -> seconds.
        usage: stage -> calls, tokens and costs of models.
        fallbacks: stage -> why it could not do its work.
        error: the stage that failed, and why; empty if none did.
        labels: labels of the data set.
        replies: the prompts that stages sent to language models, with their replies; only
            task=record writes them to a file.
        reference: the reference answer of the data set; empty if it has none.
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
        """Return the record as plain data for JSON: a line of a run's intermediate/.

        It contains each passage once, with its score, in `contexts`; `evidence` names it by its id.
        Numbers that are NaN or infinite are None.

        Args:
            replies: whether to add the prompts and replies of language models, which are long.
        """
        from convrag.api.rows import format_record  # only commands with records need it

        return format_record(self, replies=replies)

    def _repr_html_(self) -> str:
        """Show the record in a notebook."""
        return format_record_html(self)

    @classmethod
    def from_dict(cls, row: Any) -> TurnRecord:
        """Make a record from the result of `to_dict`, or a line of intermediate/.

        Other keys are ignored.

        Raises:
            ValueError: a field is missing or has another form; the message names it.
        """
        from convrag.api.rows import parse_record

        return cls(**parse_record(row))


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its observers see it.

    Args:
        folder: the folder of the run, which has its files when the run has ended well.
        config: the configuration as plain data. References such as ${oc.env:MY_KEY} are not
            resolved, since observers write it to files.
        conversations: the number of conversations.
        turns: the number of turns.
        fingerprints: place -> fingerprint of the stage.
        notes: notes of its stages for a reader of the scores.
        prompts: the templates by place and task ("rewriter.rewrite").
        sweep: the id of its sweep; empty for a single run.
        reused: whether the results come from an earlier run of the same command; the observers are
            not called then.

    Example:
        >>> run = Run(Path("outputs/now"), {"top_k": 10}, conversations=8, turns=49)
        >>> run.sweep
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
    r"""A report of a stage, a metric or an observer on a whole run.

    Reports with the same title are joined.

    Args:
        title: the subject of the report.
        lines: lines for the summary.
        numbers: plain data, which metrics.json has under the title.
        files: name -> text of files in the run's folder.

    Example:
        >>> files = {"means.csv": "turn,share\n2,0.97\n"}
        >>> report = Report("Novelty", ("Turn 2 is new: 97 %.",), {"2": 0.97}, files)
        >>> report.numbers["2"]
        0.97
    """

    title: str
    lines: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


class Measurement(dict[str, Mapping[str, float]]):
    """The result of `Metrics.measure`: turn id -> measure -> value, with a report.

    Args:
        values: turn id -> measure -> value.
        report: the metric's report on the whole run.

    Example:
        >>> report = Report("Words", ("12 words.",))
        >>> measured = Measurement({"tea<::>1": {"words": 12.0}}, report=report)
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
    """The scores of some of a run's turns, such as the turns of a domain.

    Args:
        turns: the number of turns that were scored.
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
        turns: the number of turns.
        failed: the number of turns that failed.
        fallbacks: stage -> turns in which it fell back.
        usage: stage -> calls, tokens and costs of models.
        timings: stage -> seconds.
        seconds: the time of the whole run.
        reports: title -> the numbers of a report.
        stopped: why the run ended early (at a cost limit, say); empty if it did not.
        intervals: measure -> the ends of the 95 % interval of its overall score.
        slices: "turn" (the position), or a label of the data set -> value -> scores of these turns.
        always_fell_back: stages that fell back in every turn in which they had something to do.
        failed_metrics: metric -> why it has no values, or not all.
        main_measures: one measure of `overall` for each metric that measured something, which
            represents it in a leaderboard (`Metrics.list_measures`).
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
        """The end of the run: "failed" if every turn failed, "partial" if anything is missing."""
        if self.failed == self.turns:
            return "failed"
        missing = self.failed or self.stopped or self.always_fell_back or self.failed_metrics
        return "partial" if missing else "ok"

    @property
    def exit_status(self) -> int:
        """The exit status of the run's command: 0, 1 (failed) or 3 (partial)."""
        return EXIT_STATUS[self.state]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of a grid.

    Args:
        id: a hash of its overrides, and the name of its folder.
        overrides: the overrides as they were typed ("rewriter=mmr", "top_k=20").
        folder: the folder of its run.
        state: "ok", "reused" (finished by an earlier run of the same command), "partial" (some of
            its turns failed; the same command runs it again), "failed", "same" (it is the same
            experiment as the cell whose id is `same_as`, and is not run), or empty while it is to
            come.
        error: why it failed, or what a partial one lacks.
        name: its name for people: the overrides in which it differs from other cells.
        same_as: the id of the cell that is the same experiment.

    Example:
        >>> cell = Cell("3f9a", ("rewriter=mmr",), Path("outputs/sweeps/1/3f9a"), "ok")
        >>> cell.state
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
        id: a hash of the command: the same command again is the same sweep.
        folder: the folder of the grid.
        cells: the cells in the order in which they are run.
        config: the configuration that all cells have in common, as plain data.
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
