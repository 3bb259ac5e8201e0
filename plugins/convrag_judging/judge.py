"""`metrics=judge`: answers rated by language models, by the criteria of a rubric."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge

from convrag import LLM, Dataset, Measurement, Metrics, PromptTemplate, TurnRecord, operational
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.lazy import Lazy, collect_problems
from convrag.sdk.llm.judges import (
    Judge,
    Repeats,
    check_tasks,
    name_judges,
    passage_inputs,
    repeat_calls,
)
from convrag.sdk.llm.sampling import Temperature
from convrag.sdk.parallel import map_parallel
from convrag.sdk.text.answers import References, lacks_part, list_evidence

if TYPE_CHECKING:
    from convrag_judging.rating_files import Rating
    from convrag_judging.rating_report import TurnRatings
    from convrag_judging.rubric import Rubric

log = logging.getLogger(__name__)


class JudgeMetrics(Metrics):
    """Faithfulness, appropriateness and completeness of answers, judged by language models.

    Scores are from 1 to 5. One call for each answer and judge has the conversation from the data
    set, the passages that the system showed its model, the reference answer and the answer. The
    rubric file has the criteria and the scale. Scores are averaged over judges. A turn without an
    answer gets the lowest score. Judges must be validated: `human` takes the scores of people, and
    the summary then has the agreement of judges and people.

    Args:
        llm: the judge. It should not be the model that answers: `metrics.judge.llm=gpt4`.
        dataset: has the conversation before each question, and reference answers.
        second_llm: a second judge.
        third_llm: a third one.
        rubric: a YAML file instead of this package's rubric.yaml: lowest, highest and criteria. Or
            the name of another of this package's: answer_relevancy, context_precision or
            context_recall, which are metrics, too.
        prompt: a Jinja file instead of this package's judge.jinja; it is given `question`,
            `history`, `passages` (with `title` and `text`), `reference`, `answer`, `lowest`,
            `highest` and `criteria`.
        reference: whether judges see the reference answer.
        judgements: JSONL files of scores, averaged over annotators; no model is asked then.
        human: JSONL files of people's scores: {"turn_id": ..., "criterion": ..., "score": ...,
            "annotator": ...}.
        repeat: ask each judge so many times, with sampling on; a score is the mean, so that
            intervals contain the judge's noise, and the report says how often it differs from
            itself.
        temperature: of all calls; 0 gives the likeliest reply, and stands for 1 where `repeat`
            needs sampling; None leaves it to the llm.
        workers: answers that are judged in parallel.

    Raises:
        DataError: the prompt's file is missing or is not a template.
    """

    libraries = ("numpy", "omegaconf", "pydantic", "PyYAML", "scipy")
    reads = ("answer",)

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
        repeat: Annotated[int, Ge(1)] = 1,
        temperature: Temperature | None = 0.0,
        workers: Annotated[int, operational, Ge(1)] = 4,
    ) -> None:
        from convrag_judging.rating_files import read_ratings
        from convrag_judging.rubric import read_rubric, rubric_path

        self.references = References(dataset)
        self.reference = reference
        path = rubric_path(rubric)
        is_named = rubric is not None and rubric != path
        self.title = path.stem if is_named else "judge"
        self.workers = workers
        self.template = PromptTemplate("judge", package="convrag_judging", path=prompt)
        self.prompt_templates = (self.template,)
        self.repeat = repeat
        self.judges = name_judges((llm, second_llm, third_llm), temperature, repeat)
        self.files = [path, *human, *judgements]
        self._rubric = Lazy(partial(read_rubric, path))
        self._human = Lazy(partial(read_ratings, list(human))) if human else None
        self._judgements = Lazy(partial(read_ratings, list(judgements))) if judgements else None

    def check(self) -> Iterator[str]:
        """Check that the files can be read, and that the models can judge."""
        if not self._judgements:
            yield from check_tasks(self.judges, ["judge"], self.title)
        files = (self._rubric, self._human, self._judgements)
        yield from collect_problems(*(file for file in files if file is not None))

    def content_hash(self) -> str:
        """Return a hash of the files."""
        return digest([file_hash(path) for path in self.files])

    def list_measures(self) -> Sequence[str]:
        """List the criteria that are judged: the rubric's, or those in the files of judgements."""
        if self._judgements:
            return list(dict.fromkeys(rating.criterion for rating in self._judgements()))
        return self._rubric().names

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Measure the mean score of each turn by criterion. Raises RunStopped at a cost limit."""
        from convrag_judging.rating_report import average, report_ratings

        rubric = self._rubric()
        judged_turns: list[str] | None = None
        if self._judgements:
            by_turn: dict[str, list[Rating]] = {}
            for rating in self._judgements():
                by_turn.setdefault(rating.turn_id, []).append(rating)
            judged_turns = list(by_turn)
            turns = _look_up_ratings(records, by_turn)
        else:
            judge = partial(self._judge, rubric=rubric)
            answered = (record for record in records if not lacks_part(record, "answer"))
            turns = list(map_parallel(judge, answered, "judging", workers=self.workers))
        ratings = [rating for turn in turns for rating in turn.ratings]
        human = self._human() if self._human else []
        report = report_ratings(turns, rubric, human, judged_turns, self.title)
        return Measurement(average(ratings, lambda rating: rating.turn_id), report=report)

    def _judge(self, record: TurnRecord, rubric: Rubric) -> TurnRatings:
        """Rate a turn by all judges.

        An empty answer gets the lowest score, and no call is made for it.
        """
        from convrag_judging.rating_files import Rating
        from convrag_judging.rating_report import TurnRatings

        if not record.answer.text.strip():
            lowest = float(rubric.lowest)
            ratings = [
                Rating(record.turn_id, criterion, lowest, judge.name)
                for judge in self.judges
                for criterion in rubric.names
            ]
            return TurnRatings(record.turn_id, tuple(ratings), empty=True)
        inputs = self._make_prompt_inputs(record, rubric)
        problems: list[str] = []
        repeats = Repeats()
        ratings = []
        for judge in self.judges:
            ask = partial(self._rate, judge, inputs, rubric, problems)
            replies = repeat_calls(ask, self.repeat)
            reason = " / ".join(reason for reason, _ in replies if reason)
            scores = repeats.average([scores for _, scores in replies])
            ratings += [
                Rating(record.turn_id, criterion, score, judge.name, reason)
                for criterion, score in scores.items()
            ]
        for problem in problems:
            log.info("turn %s: %s", record.turn_id, problem)
        return TurnRatings(
            record.turn_id, tuple(ratings), problems=tuple(problems), repeats=repeats
        )

    def _make_prompt_inputs(self, record: TurnRecord, rubric: Rubric) -> dict[str, Any]:
        turn = self.references.look_up(record)
        return {
            **turn.prompt_inputs(),
            **rubric.prompt_inputs(),
            "answer": record.answer.text,
            "reference": turn.answer if self.reference else "",
            "passages": [passage_inputs(passage) for passage in list_evidence(record)],
        }

    def _rate(
        self, judge: Judge, inputs: Mapping[str, Any], rubric: Rubric, problems: list[str]
    ) -> tuple[str, dict[str, float]]:
        """Ask a judge for its reason and scores; a score that is not on the scale is left out.

        `problems` gets a message about a reply that cannot be used.
        """
        from convrag_judging.reply_forms import ScoreReply, parse_score, scores_form

        form = scores_form(rubric.names, rubric.lowest, rubric.highest)
        reply = judge.ask(self.template, form, problems, ScoreReply, **inputs)
        if reply is None:
            return "", {}
        scores = {}
        for criterion in rubric.names:
            score = parse_score(reply.scores.get(criterion), rubric.lowest, rubric.highest)
            if score is not None:
                scores[criterion] = float(score)
        return reply.reason, scores


def _look_up_ratings(
    records: Iterable[TurnRecord], by_turn: Mapping[str, Sequence[Rating]]
) -> list[TurnRatings]:
    """Look up the ratings of turns in those of files."""
    from convrag_judging.rating_report import TurnRatings

    return [
        TurnRatings(record.turn_id, tuple(by_turn.get(record.turn_id, ()))) for record in records
    ]
