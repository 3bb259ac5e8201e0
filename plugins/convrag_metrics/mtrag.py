"""`metrics=mtrag`: answers judged by language models as in MTRAG and SemEval 2026 task 8."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from annotated_types import Ge

from convrag import (
    LLM,
    ConfigError,
    Dataset,
    Measurement,
    Metrics,
    PromptTemplate,
    Report,
    TurnRecord,
    operational,
)
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
from convrag.sdk.text.answers import References, lacks_part, list_evidence, prepare_answer
from convrag_metrics.answerability_labels import (
    ANSWERABILITY,
    ANSWERABLE,
    UNANSWERABLE,
    UNDERSPECIFIED,
)
from convrag_metrics.rb_agg import RbAggMetrics, harmonic_mean

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")

HEADLINE = "mtrag"
_PLAIN = ("RB_alg", "RL_F", "RB_llm")
_PROMPTS = ("statements", "verdicts", "mark", "idk", "asks")
_VERDICTS = {"yes": 1.0, "partly": 0.5, "no": 0.0}


@dataclass(kw_only=True, eq=False)
class MtragMetrics(Metrics):
    """RB_alg, RL_F and RB_llm as MTRAG defines them, and their harmonic mean.

    They are conditioned on "I do not know". RL_F is the share of an answer's statements that the
    judge finds supported by the passages shown (RAGAS's faithfulness: first the statements, then a
    verdict on each). RB_llm is the median of the judges' marks from 1 to 10, divided by 10. RB_alg
    is that of metrics=rb_agg, and needs `model`. idk_judge is whether the answer says that it does
    not know: 1, .5 of a part, 0. asks is whether it asks for what an underspecified question lacks:
    1, 0, or .5 where the judge's reply cannot be read. RB_alg_idk, RL_F_idk and RB_llm_idk are
    conditioned: an UNDERSPECIFIED turn has 1 where the answer asks, an UNANSWERABLE or
    CONVERSATIONAL one where idk_judge is 1, and else 0; any other turn has 0 where idk_judge is 1,
    and else the measure. mtrag is the harmonic mean of their three means: the headline of
    MTRAGEval's tasks B and C.

    How far these numbers can be trusted: on 158 answers of language models, the published ones have
    Spearman's correlation with the marks of three people for faithfulness of .68 (RL_F), .57
    (RB_alg) and .33 (RB_llm), and for completeness of .58, .45 and .40. metrics=trust has .73 and
    .56 without a model.

    Args:
        llm: the judge, which should not be the model that answers: `metrics.mtrag.llm=gpt4`.
        dataset: has the conversations, the reference answers and the label `answerability`.
        second_llm: a second judge of RB_llm.
        third_llm: a third one.
        model: folder of an encoder for RB_alg; None leaves RB_alg and mtrag out.
        layer: the encoder's layer, as in metrics=rb_agg.
        baseline: the encoder's baseline, as in metrics=rb_agg.
        device: where the encoder runs: cpu, cuda, mps.
        prompts: a folder with prompts in place of this package's: statements.jinja, verdicts.jinja,
            mark.jinja, idk.jinja, asks.jinja. They are given `question`, `history`, `answer`,
            `passages`, `reference` and `statements`; a file that the folder lacks is this
            package's.
        measures: all, or RL_F alone: metrics=faithfulness, as other tools call it.
        repeat: ask so many times, with sampling on: a turn's value is the mean, so that intervals
            contain the judge's noise, and the report says how often the judge differs from itself.
        temperature: of all calls; 0 gives the likeliest reply, and stands for 1 where `repeat`
            needs sampling.
        workers: answers that are judged in parallel.

    Raises:
        ConfigError: `prompts` is not a folder, or has none of the prompts.
        DataError: a prompt is not a template.
    """

    libraries = ("pydantic",)
    reads = ("answer",)

    llm: LLM
    dataset: Dataset
    second_llm: LLM | None = None
    third_llm: LLM | None = None
    model: str | None = None
    layer: Annotated[int | None, Ge(1)] = None
    baseline: Path | None = None
    device: Annotated[str, operational] = "cpu"
    prompts: Path | None = None
    measures: Literal["all", "RL_F"] = "all"
    repeat: Annotated[int, Ge(1)] = 1
    temperature: Temperature | None = 0.0
    workers: Annotated[int, operational, Ge(1)] = 4

    def __post_init__(self) -> None:
        prompts = self.prompts
        if prompts and not any((prompts / f"{name}.jinja").is_file() for name in _PROMPTS):
            raise ConfigError(
                f"metrics.mtrag.prompts={prompts} has none of {', '.join(_PROMPTS)} (.jinja)"
            )
        self.references = References(self.dataset)
        self.algorithmic: RbAggMetrics | None = None
        if self.model and self.measures == "all":
            self.algorithmic = RbAggMetrics(
                dataset=self.dataset,
                model=self.model,
                layer=self.layer,
                baseline=self.baseline,
                device=self.device,
            )
        self.templates = {name: self._load_template(name) for name in _PROMPTS}
        self.prompt_templates = tuple(self.templates.values())
        models = (self.llm, self.second_llm, self.third_llm)
        self.judges = name_judges(models, self.temperature, self.repeat)

    def _load_template(self, name: str) -> PromptTemplate:
        """Load a prompt from the user's folder, or else from this package."""
        path = self.prompts / f"{name}.jinja" if self.prompts else None
        if path is not None and not path.is_file():
            path = None
        return PromptTemplate(name, package="convrag_metrics", path=path)

    def check(self) -> Iterator[str]:
        """Check that the models can judge, and that the encoder is there."""
        yield from check_tasks(self.judges, _PROMPTS, "mtrag")
        if self.algorithmic:
            yield from self.algorithmic.check()

    def content_hash(self) -> str:
        """Return a hash of the encoder's files."""
        return self.algorithmic.content_hash() if self.algorithmic else ""

    def list_measures(self) -> Sequence[str]:
        if self.measures == "RL_F":
            return ["RL_F"]
        return (HEADLINE, *(f"{name}_idk" for name in _PLAIN), *_PLAIN, "idk_judge", "asks")

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Measure each turn with an answer. Raises RunStopped at a cost limit."""
        answered = [record for record in records if not lacks_part(record, "answer")]
        algorithmic: Mapping[str, Mapping[str, float]] = {}
        if self.algorithmic:
            algorithmic = self.algorithmic.measure(answered)
        repeats = Repeats()
        turns_by_gap: dict[str, list[str]] = {}
        measured: dict[str, dict[str, float]] = {}
        judged = map_parallel(self._judge_turn, answered, "judging", workers=self.workers)
        for record, (repetitions, gaps) in zip(answered, judged, strict=True):
            values = repeats.average(repetitions)
            score = algorithmic.get(record.turn_id, {}).get("RB_agg_unconditioned")
            if score is not None:
                values["RB_alg"] = score
            measured[record.turn_id] = values | self._condition(record, values, gaps)
            for gap in dict.fromkeys(gaps):
                turns_by_gap.setdefault(gap, []).append(record.turn_id)
        report = self._make_report(turns_by_gap, repeats) if answered else None
        return Measurement(measured, report=report)

    def _make_report(self, turns_by_gap: Mapping[str, Sequence[str]], repeats: Repeats) -> Report:
        """Report the measures that turns lack, and how far the judge agrees with itself."""
        lines = [
            f"{len(turns)} answers, such as that of {turns[0]}: {gap}"
            for gap, turns in turns_by_gap.items()
        ]
        if self.algorithmic is None and self.measures == "all":
            lines.append(
                "RB_alg and mtrag are left out, for there is no encoder: metrics.mtrag.model=FOLDER"
            )
        lines += repeats.describe()
        return Report(
            "judging",
            tuple(f"MTRAG: {line}" for line in lines),
            {HEADLINE: {"gaps": turns_by_gap}},
        )

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """Conclude the harmonic mean of the three conditioned measures, if there are all three."""
        names = [f"{name}_idk" for name in _PLAIN]
        if not all(name in means for name in names):
            return means
        return {HEADLINE: harmonic_mean(*(means[name] for name in names)), **means}

    def _judge_turn(self, record: TurnRecord) -> tuple[list[dict[str, float]], list[str]]:
        """Judge a turn, once for each repetition.

        Returns:
            The values of each repetition, and why some are missing.
        """
        gaps: list[str] = []
        answer = prepare_answer(record)
        if not answer:
            values = {"RL_F": 0.0}
            if self.measures == "all":
                values |= {"RB_llm": 0.0, "idk_judge": 1.0}
            return [values], gaps
        turn = self.references.look_up(record)
        inputs = {
            **turn.prompt_inputs(),
            "answer": answer,
            "passages": [passage_inputs(passage) for passage in list_evidence(record)],
            "reference": turn.answer,
            "statements": [],
        }
        judge = partial(self._judge, record, inputs, gaps)
        return repeat_calls(judge, self.repeat), gaps

    def _judge(
        self, record: TurnRecord, inputs: Mapping[str, Any], gaps: list[str]
    ) -> dict[str, float]:
        """Judge a turn once; `gaps` gets the reasons why values are missing."""
        values = {"RL_F": self._share_supported(inputs, gaps)}
        if self.measures == "all":
            values["RB_llm"] = self._rate(inputs, gaps)
            values["idk_judge"] = self._ask_verdict("idk", inputs, gaps)
            if self.references.find_label(record, ANSWERABILITY) == UNDERSPECIFIED:
                asks = self._ask_verdict("asks", inputs, gaps)
                values["asks"] = 0.5 if asks is None else asks
        return {name: value for name, value in values.items() if value is not None}

    def _share_supported(self, inputs: Mapping[str, Any], gaps: list[str]) -> float | None:
        """Ask for RL_F: the share of an answer's statements that the judge finds supported."""
        from convrag_metrics.verdicts import Statements, Verdicts, verdicts_form

        if not inputs["passages"]:
            gaps.append("no RL_F, for no passage was shown")
            return None
        found = self._ask("statements", Statements, inputs, gaps)
        if found is None:
            return None
        statements = [statement for statement in found.statements if statement.strip()]
        if not statements:
            gaps.append("no RL_F, for the judge finds no statement in it")
            return None
        form = verdicts_form(len(statements), Verdicts)
        reply = self._ask("verdicts", form, {**inputs, "statements": statements}, gaps)
        return None if reply is None else fmean(reply.verdicts)

    def _rate(self, inputs: Mapping[str, Any], gaps: list[str]) -> float | None:
        """Ask for RB_llm: the median of the judges' marks."""
        from convrag_metrics.verdicts import Mark

        if not inputs["reference"].strip():
            gaps.append("no RB_llm, for there is no reference answer")
            return None
        replies = [self._ask("mark", Mark, inputs, gaps, judge) for judge in self.judges]
        marks = [reply.mark for reply in replies if reply is not None]
        return median(marks) / 10 if marks else None

    def _ask_verdict(self, task: str, inputs: Mapping[str, Any], gaps: list[str]) -> float | None:
        from convrag_metrics.verdicts import Verdict

        reply = self._ask(task, Verdict, inputs, gaps)
        return None if reply is None else _VERDICTS[reply.verdict]

    def _ask(
        self,
        task: str,
        form: type[M],
        inputs: Mapping[str, Any],
        gaps: list[str],
        judge: Judge | None = None,
    ) -> M | None:
        problems: list[str] = []
        reply = (judge or self.judges[0]).ask(self.templates[task], form, problems, **inputs)
        gaps += [f"the reply to {task}.jinja cannot be used ({problem})" for problem in problems]
        return reply

    def _condition(
        self, record: TurnRecord, values: Mapping[str, float], gaps: list[str]
    ) -> dict[str, float]:
        """Condition the measures of a turn on its label, and on "I do not know"."""
        if self.measures == "RL_F":
            return {}
        label = self.references.find_label(record, ANSWERABILITY)
        idk = values.get("idk_judge")
        if label == UNDERSPECIFIED:
            return self._score_all(values.get("asks"))
        if label in UNANSWERABLE:
            return self._score_all(idk)
        if label and label not in ANSWERABLE:
            gaps.append(f"not conditioned, for the label {label} is unknown")
            return {}
        if idk is None:
            return {}
        return {
            f"{name}_idk": 0.0 if idk == 1 else values[name] for name in _PLAIN if name in values
        }

    def _score_all(self, verdict: float | None) -> dict[str, float]:
        """Score every conditioned measure by a verdict: 1 where it is a full yes, else 0."""
        if verdict is None:
            return {}
        names = _PLAIN if self.algorithmic else _PLAIN[1:]
        return {f"{name}_idk": float(verdict == 1) for name in names}
