"""`metrics=nuggets`: the share of the facts of a good answer that an answer states (TREC RAG)."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge

from convrag import (
    LLM,
    ConfigError,
    ConvragError,
    Dataset,
    Measurement,
    Metrics,
    PromptTemplate,
    Store,
    TurnRecord,
    operational,
)
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.lazy import Lazy
from convrag.sdk.llm.judges import check_tasks, name_judges
from convrag.sdk.llm.sampling import Temperature
from convrag.sdk.parallel import map_parallel
from convrag.sdk.text.analysis import count_words
from convrag.sdk.text.answers import (
    References,
    ReferenceTurn,
    lacks_part,
    list_evidence,
    prepare_answer,
    rests_on_few_nuggets,
)
from convrag.sdk.text.citations import strip_citations
from convrag_judging.nugget_assessor import NuggetAssessor, NuggetLimits
from convrag_judging.nugget_judgements import FEW, NO_NUGGETS, NO_PASSAGES, TurnJudgement
from convrag_judging.nugget_labels import NuggetLabels, NuggetSet
from convrag_judging.nugget_report import report_judgements
from convrag_judging.nugget_scores import SCORES

log = logging.getLogger(__name__)
_TASKS = ("nuggetise", "importance", "assign")


class NuggetMetrics(Metrics):
    """Nugget scores as TREC RAG and GINGER define them, V_strict first.

    They are strict_vital (V_strict), vital, strict_all, all and weighted. Nuggets are the facts
    that a good answer states. A language model creates them from passages, window after window,
    labels which are vital, and labels which of them an answer supports; or files have the labels.
    Nuggets do not depend on the system that is judged: they are created once for each question and
    its passages. A turn without passages is not scored; a failed turn and an empty answer score 0.
    The number of nuggets and the length of the answer in words are reported with the scores: longer
    answers score higher, so compare systems at one length.

    Args:
        llm: creates the nuggets and labels them. It should not be the model that answers:
            `metrics.nuggets.llm=gpt4`.
        dataset: has the conversation before each question, and its reference passages.
        store: where passages are looked up.
        second_llm: a second assessor of importance and support; scores are averaged over assessors
            (GINGER has three).
        third_llm: a third assessor.
        passages: the passages that nuggets are created from: "reference", the data set's (a turn's
            own, else those that the qrels call relevant), or "evidence", those that the judged
            system showed its model (then systems cannot be compared).
        nuggets: JSONL file of nuggets, with or without importance; none are created then.
        judgements: JSONL files of importance and support labels, each of them an assessor (or with
            an "assessor" in each line); no model is asked then.
        max_words: truncates all answers to this length in words before they are judged; None judges
            them whole.
        min_nuggets: leaves out turns whose answer rests on fewer nuggets (generator=ginger; the
            GINGER paper leaves out those with fewer than 2). The summary always has their number.
        window: passages per call (10: TREC RAG).
        batch: nuggets per call that labels importance or support (10: TREC RAG).
        max_nuggets: the most nuggets of a question (30: TREC RAG).
        nugget_words: the most words of a nugget (12: TREC RAG).
        nuggetise_prompt: a Jinja file instead of this package's nuggetise.jinja; it is given
            `question`, `history`, `passages` (with `title` and `text`), `nuggets` (the list so
            far), `most` and `words`.
        importance_prompt: a Jinja file instead of importance.jinja; it is given `question`,
            `history`, `nuggets`.
        assign_prompt: a Jinja file instead of assign.jinja; it is given `question`, `history`,
            `nuggets`, `answer`.
        temperature: the temperature of all calls; 0 gives the likeliest reply, None leaves it to
            the llm.
        workers: turns that are judged in parallel.

    Raises:
        ConfigError: judgements are combined with max_words or nuggets.
        DataError: a prompt's file is missing or is not a template.
    """

    libraries = ("pydantic",)
    reads = ("answer",)

    def __init__(
        self,
        *,
        llm: LLM,
        dataset: Dataset,
        store: Store,
        second_llm: LLM | None = None,
        third_llm: LLM | None = None,
        passages: Literal["reference", "evidence"] = "reference",
        nuggets: Path | None = None,
        judgements: list[Path] = [],  # noqa: B006 - read only
        max_words: Annotated[int | None, Ge(1)] = None,
        min_nuggets: Annotated[int, Ge(0)] = 0,
        window: Annotated[int, Ge(1)] = 10,
        batch: Annotated[int, Ge(1)] = 10,
        max_nuggets: Annotated[int, Ge(1)] = 30,
        nugget_words: Annotated[int, Ge(1)] = 12,
        nuggetise_prompt: Path | None = None,
        importance_prompt: Path | None = None,
        assign_prompt: Path | None = None,
        temperature: Temperature | None = 0.0,
        workers: Annotated[int, operational, Ge(1)] = 4,
    ) -> None:
        from convrag_judging.nugget_files import read_nugget_labels, read_nuggets

        if judgements and (max_words or nuggets):
            other = "max_words" if max_words else "nuggets"
            raise ConfigError(
                f"metrics.nuggets.{other} is for answers that are still to be judged, and with "
                "metrics.nuggets.judgements they are judged already: give one of the two"
            )
        self.references = References(dataset, store)
        self.passages = passages
        self.max_words = max_words
        self.min_nuggets = min_nuggets
        self.workers = workers
        self.files = [path for path in (nuggets, *judgements) if path is not None]
        self._nuggets = Lazy(partial(read_nuggets, nuggets)) if nuggets else None
        self._labels = Lazy(partial(read_nugget_labels, list(judgements))) if judgements else None
        paths = dict(zip(_TASKS, (nuggetise_prompt, importance_prompt, assign_prompt), strict=True))
        prompts = {
            task: PromptTemplate(task, package="convrag_judging", path=path)
            for task, path in paths.items()
        }
        self.prompt_templates = tuple(prompts.values())
        sizes = NuggetLimits(window, batch, max_nuggets, nugget_words)
        self.judges = name_judges((llm, second_llm, third_llm), temperature)
        self.assessors = [NuggetAssessor(judge, prompts, sizes) for judge in self.judges]

    def check(self) -> Iterator[str]:
        """Check that the files can be read, that nuggets can be made, and that models can judge."""
        try:
            if self._labels:
                self._labels()
                return
            yield from check_tasks(self.judges, self._list_tasks(), "nuggets")
            if self._nuggets:
                self._nuggets()
            elif self.passages == "reference" and not self.references.has_passages():
                yield (
                    "the data set has neither reference passages nor qrels with a corpus to make "
                    "nuggets from. Give nuggets with metrics.nuggets.nuggets=FILE, or make them "
                    "from what each system shows: metrics.nuggets.passages=evidence"
                )
        except ConvragError as error:
            yield str(error)

    def content_hash(self) -> str:
        """Return a hash of the files."""
        return digest([file_hash(path) for path in self.files])

    def note(self) -> str:
        """Warn where scores must not be compared between systems."""
        if self.passages == "evidence" and not self._nuggets and not self._labels:
            return (
                "nuggets are made from what this system showed its model: do not compare systems "
                "by them"
            )
        return ""

    def list_measures(self) -> Sequence[str]:
        return (*(f"nuggets_{name}" for name in SCORES), "nuggets_count", "nuggets_words")

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Measure each turn that can be judged. Raises RunStopped at a cost limit."""
        judged_turns: list[str] | None = None
        if self._labels:
            labels = self._labels()
            judged_turns = list(labels)
            judgements = [self._look_up(record, labels) for record in records]
        else:
            answered = (record for record in records if not lacks_part(record, "answer"))
            judgements = list(map_parallel(self._judge, answered, "nuggets", workers=self.workers))
        scores = {each.turn_id: each.compute_scores() for each in judgements if not each.left_out}
        report = report_judgements(judgements, self.min_nuggets, judged_turns)
        return Measurement(scores, report=report)

    def _list_tasks(self) -> Sequence[str]:
        """List the tasks that models are asked to do; a file of nuggets replaces some."""
        if not self._nuggets:
            return _TASKS
        if all(nuggets.importance for nuggets in self._nuggets().values()):
            return ["assign"]
        return ["importance", "assign"]

    def _look_up(
        self, record: TurnRecord, labels: Mapping[str, Sequence[NuggetLabels]]
    ) -> TurnJudgement:
        """Look up the judgement of a turn in the labels of files."""
        if rests_on_few_nuggets(record, self.min_nuggets):
            return TurnJudgement(record.turn_id, left_out=FEW)
        words = _count_words(record.answer.text) if record.answer.text else None
        return TurnJudgement.from_labels(record.turn_id, labels.get(record.turn_id, ()), words)

    def _judge(self, record: TurnRecord) -> TurnJudgement:
        """Judge a turn by the models."""
        if rests_on_few_nuggets(record, self.min_nuggets):
            return TurnJudgement(record.turn_id, left_out=FEW)
        turn = self.references.look_up(record)
        problems: list[str] = []
        nuggets = self._find_nuggets(record, turn, problems)
        if isinstance(nuggets, str):
            return TurnJudgement(record.turn_id, left_out=nuggets, problems=tuple(problems))
        answer = record.answer.text
        if self.max_words:
            answer = prepare_answer(record, max_words=self.max_words)
        assessments = [
            assessor.assess(turn, nuggets, answer, problems) for assessor in self.assessors
        ]
        for problem in problems:
            log.info("turn %s: %s", record.turn_id, problem)
        return TurnJudgement.from_assessments(
            record.turn_id, assessments, _count_words(answer), problems
        )

    def _find_nuggets(
        self, record: TurnRecord, turn: ReferenceTurn, problems: list[str]
    ) -> NuggetSet | str:
        """Find the nuggets of a turn in the file or in passages, or the reason why it has none."""
        if self._nuggets:
            nuggets = self._nuggets().get(record.turn_id)
            return nuggets if nuggets and nuggets.texts else NO_NUGGETS
        passages = turn.passages if self.passages == "reference" else list_evidence(record)
        if not passages:
            return NO_PASSAGES
        texts = self.assessors[0].create_nuggets(turn, passages, problems)
        return NuggetSet(tuple(texts)) if texts else NO_NUGGETS


def _count_words(answer: str) -> int:
    return count_words(strip_citations(answer))
