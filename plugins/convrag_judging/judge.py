"""`metrics=judge`: how good answers are, by a rubric and in the eyes of a model."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from weakref import WeakSet

from convrag import LLM, ConfigError, Dataset, Metrics, PromptTemplate, Report, Run, TurnRecord, operational
from convrag.sdk.lazy import Lazy, collect_problems
from convrag.sdk.parallel import map_parallel
from convrag.store.fingerprint import digest, file_hash
from convrag_judging.asked import Script, has_answer, shown
from convrag_judging.models import named, unable

if TYPE_CHECKING:
    from convrag_judging.ballot import Ballot, Vote
    from convrag_judging.opinions import Opinion
    from convrag_judging.rubric import Rubric

log = logging.getLogger(__name__)
_alive: WeakSet[JudgeMetrics] = WeakSet()


class JudgeMetrics(Metrics):
    """Faithfulness, appropriateness and completeness of answers, from 1 to 5, as language models judge them.

    One call for each answer and judge: the conversation as the data set has it, the passages that the system showed its
    model, the reference answer and the answer. Criteria and scale are those of the rubric file. Several judges are
    averaged. A turn without an answer gets the lowest score. A judge is a measuring instrument that must be tested:
    give the scores of people with `human`, and the summary says how far it agrees with them.

    Args:
        llm: the judge. It should be another than the model that answers: `+llm@metrics.judge.llm=gpt4`.
        dataset: has the conversation before each question, and reference answers.
        second_llm: a second judge.
        third_llm: a third one.
        rubric: a YAML file instead of this package's rubric.yaml: lowest, highest and criteria.
        prompt: a Jinja file instead of this package's judge.jinja; it is given `question`, `history`, `passages` (with
            `title` and `text`), `reference`, `answer`, `lowest`, `highest` and `criteria`.
        reference: whether judges see the reference answer.
        judgements: JSONL files of given scores, averaged over annotators; no model is asked then.
        human: JSONL files of people's scores: {"turn_id": ..., "criterion": ..., "score": ..., "annotator": ...}.
        temperature: of all calls; 0 gives the likeliest reply, None leaves it to the llm.
        workers: answers that are judged side by side.

    Raises:
        ConfigError: no worker is to judge.
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        dataset: Dataset,
        second_llm: LLM | None = None,
        third_llm: LLM | None = None,
        rubric: Path | None = None,
        prompt: Path | None = None,
        reference: bool = True,
        judgements: list[Path] = [],  # noqa: B006 - read only
        human: list[Path] = [],  # noqa: B006 - read only
        temperature: float | None = 0.0,
        workers: Annotated[int, operational] = 4,
    ) -> None:
        from convrag_judging.judges import Judge
        from convrag_judging.opinions import read_opinions
        from convrag_judging.rubric import read_rubric, rubric_path

        if workers < 1:
            raise ConfigError(f"metrics.judge.workers={workers}: at least 1")
        self.script = Script(dataset)
        self.reference = reference
        self.workers = workers
        self.template = PromptTemplate("judge", package="convrag_judging", path=prompt)
        self.models = named(llm, second_llm, third_llm)
        sampling = {"temperature": temperature}
        self.judges = [Judge(name, model, self.template, sampling) for name, model in self.models.items()]
        self.files = [rubric_path(rubric), *human, *judgements]
        self._rubric = Lazy(partial(read_rubric, rubric_path(rubric)))
        self._human = Lazy(partial(read_opinions, list(human))) if human else None
        self._given = Lazy(partial(read_opinions, list(judgements))) if judgements else None
        self._here = threading.local()
        _alive.add(self)

    def check(self) -> Iterator[str]:
        """What is wrong with the files, and whether the models can judge."""
        if not self._given:
            yield from unable(self.models, ["judge"], "judge")
        yield from collect_problems(*(file for file in (self._rubric, self._human, self._given) if file))

    def content_hash(self) -> str:
        """A hash of the prompt and of the files."""
        return digest([self.template.hash, [file_hash(path) for path in self.files]])

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """The mean score of each turn by criterion. Raises RunStopped at a cost limit."""
        from convrag_judging.ballot import Ballot, Vote

        self._here.ballot = None  # should this one not come to its end, the last one must not pass for it
        ballot = Ballot(self._rubric(), self._human() if self._human else ())
        if self._given:
            given: dict[str, list[Opinion]] = {}
            for opinion in self._given():
                given.setdefault(opinion.turn_id, []).append(opinion)
            for record in records:
                ballot.add(Vote(record.turn_id, tuple(given.get(record.turn_id, ()))))
            ballot.given = tuple(given)
        else:
            judge = partial(self._judge, rubric=self._rubric())
            for vote in map_parallel(judge, filter(has_answer, records), "judging", workers=self.workers):
                ballot.add(vote)
        self._here.ballot = ballot
        return ballot.means()

    def last_ballot(self) -> Ballot | None:
        """What this thread measured last."""
        ballot: Ballot | None = getattr(self._here, "ballot", None)
        return ballot

    def _judge(self, record: TurnRecord, rubric: Rubric) -> Vote:
        """A turn in the eyes of all judges."""
        from convrag_judging.ballot import Vote
        from convrag_judging.opinions import Opinion

        answer = record.answer.text
        if not answer.strip():
            lowest = float(rubric.lowest)
            said = (Opinion(record.turn_id, name, lowest, judge, "") for judge in self.models for name in rubric.names)
            return Vote(record.turn_id, tuple(said), empty=True)
        asked = self.script.asked(record)
        if not self.reference:
            asked = replace(asked, reference="")
        problems: list[str] = []
        opinions = [
            opinion
            for judge in self.judges
            for opinion in judge.opinions(record.turn_id, asked, shown(record), answer, rubric, problems)
        ]
        for problem in problems:
            log.info("turn %s: %s", record.turn_id, problem)
        return Vote(record.turn_id, tuple(opinions), problems=tuple(problems))


def report(run: Run) -> Report | None:
    """What the judges of this run, if it has any, gave; how far they agree."""
    fingerprint = run.fingerprints.get("metrics.judge")
    chosen = (metric for metric in list(_alive) if fingerprint and metric.fingerprint == fingerprint)
    ballots = [ballot for metric in chosen if (ballot := metric.last_ballot())]
    return ballots[0].report() if ballots else None
