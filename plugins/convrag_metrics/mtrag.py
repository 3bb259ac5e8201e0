"""`metrics=mtrag`: answers judged as MTRAG and SemEval 2026 task 8 (MTRAGEval) judge them, by
language models.
"""

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
from convrag.sdk.parallel import map_parallel
from convrag.sdk.text.answers import References, lacks_part, list_evidence, prepare_answer
from convrag_metrics.bertscore import RbAggMetrics, harmonic_mean
from convrag_metrics.idk import ANSWERABILITY, ANSWERABLE, UNANSWERABLE, UNDERSPECIFIED

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")

HEADLINE = "mtrag"
_PLAIN = ("RB_alg", "RL_F", "RB_llm")
_PROMPTS = ("statements", "verdicts", "mark", "idk", "asks")
_VERDICTS = {"yes": 1.0, "partly": 0.5, "no": 0.0}


@dataclass(kw_only=True, eq=False)
class MtragMetrics(Metrics):
    """RB_alg, RL_F and RB_llm as MTRAG defines them, conditioned on "I do not know", and their harmonic mean.

    RL_F is the share of an answer's statements that the judge finds supported by the passages shown
    (RAGAS's faithfulness: first the statements, then a verdict on each). RB_llm is the median of
    the judges' marks from 1 to 10, divided by 10. RB_alg is that of metrics=rb_agg, and needs
    `model`. idk_judge is whether the answer says that it does not know: 1, .5 of a part, 0. asks is
    whether it asks for what an underspecified question lacks: 1, 0, or .5 where the judge's reply
    cannot be read. RB_alg_idk, RL_F_idk and RB_llm_idk are conditioned: an UNDERSPECIFIED turn has
    1 where the answer asks, an UNANSWERABLE or CONVERSATIONAL one where idk_judge is 1, and else 0;
    any other turn has 0 where idk_judge is 1, and else the measure. mtrag is the harmonic mean of
    their three means: the headline of MTRAGEval's tasks B and C.

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
        ConfigError: `prompts` is no folder, or has none of the prompts.
        DataError: a prompt is no template.
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
    temperature: float | None = 0.0
    workers: Annotated[int, operational, Ge(1)] = 4

    def __post_init__(self) -> None:
        prompts = self.prompts
        if prompts and not any((prompts / f"{name}.jinja").is_file() for name in _PROMPTS):
            raise ConfigError(
                f"metrics.mtrag.prompts={prompts} has none of {', '.join(_PROMPTS)} (.jinja)"
            )
        self.references = References(self.dataset)
        self.algorithmic = None
        if self.model and self.measures == "all":
            encoder = partial(RbAggMetrics, dataset=self.dataset, layer=self.layer)
            self.algorithmic = encoder(model=self.model, baseline=self.baseline, device=self.device)
        paths = {name: prompts / f"{name}.jinja" for name in _PROMPTS} if prompts else {}
        self.templates = {
            name: PromptTemplate(
                name, package="convrag_metrics", path=path if path and path.is_file() else None
            )
            for name, path in ((name, paths.get(name)) for name in _PROMPTS)
        }
        self.prompt_templates = tuple(self.templates.values())
        self.judges = name_judges(
            (self.llm, self.second_llm, self.third_llm), self.temperature, self.repeat
        )

    def check(self) -> Iterator[str]:
        """Check that the models can judge, and that the encoder is there."""
        yield from check_tasks(self.judges, _PROMPTS, "mtrag")
        yield from self.algorithmic.check() if self.algorithmic else ()

    def content_hash(self) -> str:
        """A hash of the encoder's files."""
        return self.algorithmic.content_hash() if self.algorithmic else ""

    def list_measures(self) -> Sequence[str]:
        if self.measures == "RL_F":
            return ["RL_F"]
        return (HEADLINE, *(f"{name}_idk" for name in _PLAIN), *_PLAIN, "idk_judge", "asks")

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """The measures of each turn with an answer, and the report. Raises RunStopped at a cost
        limit.
        """
        answered = [record for record in records if not lacks_part(record, "answer")]
        algorithmic = self.algorithmic.measure(answered) if self.algorithmic else {}
        repeats, gaps = Repeats(), dict[str, list[str]]()
        measured: dict[str, dict[str, float]] = {}
        judged = map_parallel(self._judge_turn, answered, "judging", workers=self.workers)
        for record, (said, found) in zip(answered, judged, strict=True):
            values = repeats.average(said)
            if (
                score := algorithmic.get(record.turn_id, {}).get("RB_agg_unconditioned")
            ) is not None:
                values["RB_alg"] = score
            measured[record.turn_id] = values | self._condition(record, values, found)
            for gap in dict.fromkeys(found):
                gaps.setdefault(gap, []).append(record.turn_id)
        lines = [
            f"{len(turns)} answers, such as that of {turns[0]}: {gap}"
            for gap, turns in gaps.items()
        ]
        if self.algorithmic is None and self.measures == "all":
            lines.append(
                "RB_alg and mtrag are left out, for there is no encoder: metrics.mtrag.model=FOLDER"
            )
        sentences = tuple(f"MTRAG: {line}" for line in (*lines, *repeats.describe()))
        report = Report("judging", sentences, {HEADLINE: {"gaps": gaps}})
        return Measurement(measured, report=report if answered else None)

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """The harmonic mean of the three conditioned measures beside them; none where one of them
        is missing.
        """
        parts = [means[name] for each in _PLAIN if (name := f"{each}_idk") in means]
        return {HEADLINE: harmonic_mean(*parts), **means} if len(parts) == len(_PLAIN) else means

    def _judge_turn(self, record: TurnRecord) -> tuple[list[dict[str, float]], list[str]]:
        """What the judges say of a turn, once for each repetition; and what they do not, and why."""
        gaps: list[str] = []
        turn, answer = self.references.look_up(record), prepare_answer(record)
        passages = [passage_inputs(passage) for passage in list_evidence(record)]
        inputs = {
            **turn.prompt_inputs(),
            "answer": answer,
            "passages": passages,
            "reference": turn.answer,
        }
        if not answer:
            return [
                {"RL_F": 0.0}
                if self.measures == "RL_F"
                else {"RL_F": 0.0, "RB_llm": 0.0, "idk_judge": 1.0}
            ], gaps
        return repeat_calls(
            partial(self._judge, record, {**inputs, "statements": []}, gaps), self.repeat
        ), gaps

    def _judge(
        self, record: TurnRecord, inputs: Mapping[str, Any], gaps: list[str]
    ) -> dict[str, float]:
        values = {"RL_F": self._share_supported(inputs, gaps)}
        if self.measures == "all":
            label = self.references.find_label(record, ANSWERABILITY)
            values |= {
                "RB_llm": self._mark(inputs, gaps),
                "idk_judge": self._ask_verdict("idk", inputs, gaps),
            }
            if label == UNDERSPECIFIED:
                asks = self._ask_verdict("asks", inputs, gaps)
                values["asks"] = 0.5 if asks is None else asks
        return {name: value for name, value in values.items() if value is not None}

    def _share_supported(self, inputs: Mapping[str, Any], gaps: list[str]) -> float | None:
        """RL_F: the share of an answer's statements that the judge finds supported."""
        from convrag_metrics.verdicts import Statements, verdicts_form

        if not inputs["passages"]:
            gaps.append("no RL_F, for no passage was shown")
            return None
        if (found := self._ask("statements", Statements, inputs, gaps)) is None:
            return None
        if not (statements := [each for each in found.statements if each.strip()]):
            gaps.append("no RL_F, for the judge finds no statement in it")
            return None
        replied = self._ask(
            "verdicts", verdicts_form(len(statements)), {**inputs, "statements": statements}, gaps
        )
        return None if replied is None else fmean(replied.verdicts)

    def _mark(self, inputs: Mapping[str, Any], gaps: list[str]) -> float | None:
        """RB_llm: the median of the judges' marks."""
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
        """The measures of a turn conditioned on its label, and on whether the answer says that it
        does not know.
        """
        if self.measures == "RL_F":
            return {}
        label, idk = self.references.find_label(record, ANSWERABILITY), values.get("idk_judge")
        if label not in ("", UNDERSPECIFIED, *UNANSWERABLE, *ANSWERABLE):
            gaps.append(f"not conditioned, for the label {label} is unknown")
            return {}
        if label == UNDERSPECIFIED or label in UNANSWERABLE:
            right = values.get("asks") if label == UNDERSPECIFIED else idk
            names = _PLAIN if self.algorithmic else _PLAIN[1:]
            return {} if right is None else {f"{name}_idk": float(right == 1) for name in names}
        plain = {f"{name}_idk": values[name] for name in _PLAIN if name in values}
        return {} if idk is None else dict.fromkeys(plain, 0.0) if idk == 1 else plain
