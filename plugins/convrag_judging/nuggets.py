"""`metrics=nuggets`: which of the facts that a good answer states an answer has (TREC RAG)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from weakref import WeakSet

from convrag import (
    LLM,
    ConfigError,
    ConvragError,
    Dataset,
    Metrics,
    PromptTemplate,
    Report,
    Run,
    Store,
    TurnRecord,
    operational,
)
from convrag.sdk.lazy import Lazy
from convrag.sdk.parallel import map_parallel
from convrag.store.fingerprint import digest, file_hash
from convrag_judging.asked import Asked, Script, has_answer, shown
from convrag_judging.given import GivenLabels, GivenNuggets, read_labels, read_nuggets
from convrag_judging.models import named, unable, without_language
from convrag_judging.verdict import FEW, NO_NUGGETS, NO_PASSAGES, NOT_JUDGED, Assessment, Verdict
from convrag_judging.words import answer_words, cut

if TYPE_CHECKING:
    from convrag_judging.assessor import Assessor
    from convrag_judging.tally import Tally

log = logging.getLogger(__name__)
_alive: WeakSet[NuggetMetrics] = WeakSet()


class NuggetMetrics(Metrics):
    """Nugget scores as TREC RAG and GINGER define them: strict_vital (V_strict), vital, strict_all, all, weighted.

    Nuggets are the facts that a good answer states. A language model makes them from passages, window after window,
    says which are vital, and says which of them an answer supports; or files say so. They do not depend on the system
    that is judged: the same question and passages are the same nuggets, and are asked for once. A turn is not scored
    where there is nothing to make nuggets from; a failed turn, and an empty answer, score 0. Beside the scores stand
    the number of nuggets and the length of the answer in words: longer answers score higher, so compare at one length.

    Args:
        llm: makes the nuggets and judges. It should be another than the model that answers:
            `+llm@metrics.nuggets.llm=gpt4`.
        dataset: has the conversation before each question, and its reference passages.
        store: where passages are looked up.
        second_llm: a second judge of importance and support; the scores of all are averaged (GINGER has three).
        third_llm: a third one.
        passages: what nuggets are made from: "reference", the data set's (a turn's own, else those that the qrels call
            relevant), or "evidence", those that the judged system showed its model (then systems cannot be compared).
        nuggets: JSONL file of given nuggets, with or without importance; nothing is made then.
        judgements: JSONL files of given importance and support, each of them an assessor (or with an "assessor" in each
            line); no model is asked then.
        max_words: cuts all answers to this length in words before they are judged; None judges them whole.
        min_nuggets: leaves out turns whose answer rested on fewer nuggets (generator=ginger; the GINGER paper leaves
            out those with fewer than 2). How many that were is always said.
        window: passages that are read at a time (10: TREC RAG).
        batch: nuggets that are weighed, or looked for, at a time (10: TREC RAG).
        max_nuggets: the most nuggets of a question (30: TREC RAG).
        nugget_words: the most words of a nugget (12: TREC RAG).
        nuggetise_prompt: a Jinja file instead of this package's nuggetise.jinja; it is given `question`, `history`,
            `passages` (with `title` and `text`), `nuggets` (those found until then), `most` and `words`.
        importance_prompt: instead of importance.jinja; `question`, `history`, `nuggets`.
        assign_prompt: instead of assign.jinja; `question`, `history`, `nuggets`, `answer`.
        temperature: of all calls; 0 gives the likeliest reply, None leaves it to the llm.
        workers: turns that are judged side by side.

    Raises:
        ConfigError: a number is out of range, or given judgements are to be cut.
        DataError: a prompt's file is missing or is no template.
    """

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
        max_words: int | None = None,
        min_nuggets: int = 0,
        window: int = 10,
        batch: int = 10,
        max_nuggets: int = 30,
        nugget_words: int = 12,
        nuggetise_prompt: Path | None = None,
        importance_prompt: Path | None = None,
        assign_prompt: Path | None = None,
        temperature: float | None = 0.0,
        workers: Annotated[int, operational] = 4,
    ) -> None:
        limits = {"window": window, "batch": batch, "max_nuggets": max_nuggets, "nugget_words": nugget_words}
        for name, value in (limits | {"max_words": max_words, "workers": workers}).items():
            if value is not None and value < 1:
                raise ConfigError(f"metrics.nuggets.{name}={value}: at least 1")
        if judgements and (max_words or nuggets):
            other = "max_words" if max_words else "nuggets"
            raise ConfigError(
                f"metrics.nuggets.{other} is for answers that are still to be judged, and with "
                "metrics.nuggets.judgements they are judged already: give one of the two"
            )
        self.script = Script(dataset, store)
        self.passages = passages
        self.max_words = max_words
        self.min_nuggets = min_nuggets
        self.workers = workers
        self.files = [path for path in (nuggets, *judgements) if path is not None]
        self._nuggets = Lazy(partial(read_nuggets, nuggets)) if nuggets else None
        self._labels = Lazy(partial(read_labels, list(judgements))) if judgements else None
        self.nuggetise_template = _template("nuggetise", nuggetise_prompt)
        self.importance_template = _template("importance", importance_prompt)
        self.assign_template = _template("assign", assign_prompt)
        from convrag_judging.assessor import Assessor, Limits, Templates

        templates = Templates(self.nuggetise_template, self.importance_template, self.assign_template)
        asked = Limits(window, batch, max_nuggets, nugget_words)
        sampling = {"temperature": temperature}
        self.models = named(llm, second_llm, third_llm)
        self.assessors = [Assessor(name, model, templates, asked, sampling) for name, model in self.models.items()]
        self._here = threading.local()
        _alive.add(self)

    def check(self) -> Iterator[str]:
        """What is wrong with the files; whether there is anything to make nuggets from, and a model that can."""
        try:
            if self._labels:
                self._labels()
                return
            yield from unable(self.models, self._tasks(), "nuggets")
            if self._nuggets:
                self._nuggets()
            elif self.passages == "reference" and not self.script.has_passages():
                yield (
                    "the data set has neither reference passages nor qrels with a corpus to make nuggets from. Give "
                    "nuggets with metrics.nuggets.nuggets=FILE, or make them from what each system shows: "
                    "metrics.nuggets.passages=evidence"
                )
        except ConvragError as error:
            yield str(error)

    def content_hash(self) -> str:
        """A hash of the prompts and of the files."""
        prompts = [self.nuggetise_template.hash, self.importance_template.hash, self.assign_template.hash]
        return digest([prompts, [file_hash(path) for path in self.files]])

    def note(self) -> str:
        """Says where a reader must not take the scores for more than they are."""
        if self._labels:
            return ""
        said = []
        if lexical := without_language(self.models):
            said.append(f"nuggets are judged by the words in common, not by a language model ({', '.join(lexical)})")
        if self.passages == "evidence" and not self._nuggets:
            said.append("nuggets are made from what this system showed its model: do not compare systems by them")
        return "; ".join(said)

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Scores, number of nuggets and words of each turn that can be judged. Raises RunStopped at a cost limit."""
        self._here.tally = None  # should this one not come to its end, the last one must not pass for it
        given = self._labels() if self._labels else None
        from convrag_judging.tally import Tally

        tally = Tally(self.min_nuggets, None if given is None else list(given))
        judged = (
            map_parallel(self._judge, filter(has_answer, records), "nuggets", workers=self.workers)
            if given is None
            else (self._look_up(record, given) for record in records)
        )
        for verdict in judged:
            tally.add(verdict)
        self._here.tally = tally
        return tally.scored

    def last_tally(self) -> Tally | None:
        """The counts of what this thread measured last."""
        tally: Tally | None = getattr(self._here, "tally", None)
        return tally

    def _tasks(self) -> list[str]:
        importance = self._nuggets and all(each.importance for each in self._nuggets().values())
        return ["assign"] if importance else ["importance", "assign"] if self._nuggets else list(_TASKS)

    def _look_up(self, record: TurnRecord, given: Mapping[str, Iterable[GivenLabels]]) -> Verdict:
        """A turn as files judge it. Lists without a pair are scores of 0, as those who published such scores count."""
        if self._rests_on_few(record):
            return Verdict(record.turn_id, left_out=FEW)
        if not (labels := list(given.get(record.turn_id, ()))):
            return Verdict(record.turn_id, left_out=NOT_JUDGED)
        assessments = tuple(Assessment(each.assessor, each.texts, each.importance, each.assignment) for each in labels)
        words = next((each.words for each in labels if each.words is not None), None)
        if words is None and record.answer.text:
            words = len(answer_words(record.answer.text))
        return Verdict(record.turn_id, assessments, words)

    def _judge(self, record: TurnRecord) -> Verdict:
        """A turn as the models judge it."""
        if self._rests_on_few(record):
            return Verdict(record.turn_id, left_out=FEW)
        asked, problems = self.script.asked(record), list[str]()
        nuggets = self._nuggets_of(record, asked, problems)
        if isinstance(nuggets, str):
            return Verdict(record.turn_id, left_out=nuggets, problems=tuple(problems))
        answer = cut(record.answer.text, self.max_words)
        assessments = [self._assess(assessor, asked, nuggets, answer, problems) for assessor in self.assessors]
        for problem in problems:
            log.info("turn %s: %s", record.turn_id, problem)
        return Verdict.of(record.turn_id, assessments, len(answer_words(answer)), problems)

    def _nuggets_of(self, record: TurnRecord, asked: Asked, problems: list[str]) -> GivenNuggets | str:
        """The nuggets of a turn, or why there are none."""
        if self._nuggets:
            given = self._nuggets().get(record.turn_id)
            return given if given and given.texts else NO_NUGGETS
        passages = asked.passages if self.passages == "reference" else shown(record)
        if not passages:
            return NO_PASSAGES
        texts = self.assessors[0].nuggets(asked, passages, problems)
        return GivenNuggets(tuple(texts)) if texts else NO_NUGGETS

    def _assess(
        self, assessor: Assessor, asked: Asked, nuggets: GivenNuggets, answer: str, problems: list[str]
    ) -> Assessment:
        texts = nuggets.texts
        importance = list(nuggets.importance) or assessor.importance(asked, texts, problems)
        nothing = ["none"] * len(texts)
        assignment = assessor.assignment(asked, texts, answer, problems) if answer.strip() else nothing
        return Assessment.closed(assessor.name, texts, importance, assignment)

    def _rests_on_few(self, record: TurnRecord) -> bool:
        """Whether the generator says that it had fewer nuggets than there must be."""
        nuggets = record.trace.get("generator", {}).get("nuggets")
        return nuggets is not None and len(nuggets) < self.min_nuggets


def report(run: Run) -> Report | None:
    """What the nuggets of this run, if it has any, came to; what was left out."""
    fingerprint = run.fingerprints.get("metrics.nuggets")
    chosen = (metric for metric in list(_alive) if fingerprint and metric.fingerprint == fingerprint)
    tallies = [tally for metric in chosen if (tally := metric.last_tally())]
    return tallies[0].report() if tallies else None


_TASKS = ("nuggetise", "importance", "assign")


def _template(task: str, path: Path | None) -> PromptTemplate:
    return PromptTemplate(task, package="convrag_judging", path=path)
