"""`metrics=goal_success`: conversations of dataset=simulated: whether and how soon users reached
their goal.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from convrag import LLM, Dataset, Measurement, Metrics, PromptTemplate, Report, TurnRecord
from convrag.sdk.data.simulated import PlayedConversation
from convrag.sdk.llm.judges import Judge
from convrag.sdk.parallel import map_parallel

_MEASURES = (
    "goal_reached",
    "turns_left",
    "turns_needed",
    "questions_repeated",
    "facts_given",
    "facts_kept",
)


class GoalSuccessMetrics(Metrics):
    """Whether simulated users reach their goal (dataset=simulated), in how many turns, and what the answers gave them.

    goal_reached is 1 where the user was content, else 0; turns_needed how many turns that took, and
    all that a user has where it was not reached; turns_left the rest of these: higher is better, so
    that `sweep.metric=turns_left` puts the system first that needs fewest turns. questions_repeated
    is how often the user had to ask again. facts_given is the share of the facts that some answer
    gives, by its words and numbers; facts_kept the share of those asked for again after they were
    given that the later answer still gives. Where `llm` is a language model, it judges goal_reached
    and facts_given, and answers_contradict is 1 where two of our answers contradict each other.
    Each conversation counts once: its values stand at its first turn.

    Args:
        dataset: has the goals and the facts.
        llm: the judge, which should be neither the model that answers nor the one that plays the
            users.
        temperature: of its calls; None leaves it to the llm.
        prompt: a Jinja file to use instead of this package's goal.jinja.

    Raises:
        DataError: the prompt is missing or no template.
    """

    libraries = ("pydantic",)
    reads = ("answer",)

    def __init__(
        self,
        *,
        dataset: Dataset,
        llm: LLM,
        temperature: float | None = 0.0,
        prompt: Path | None = None,
    ) -> None:
        self.dataset = dataset
        self.template = PromptTemplate("goal", package="convrag_metrics", path=prompt)
        self.judge = Judge("llm", llm, {"temperature": temperature}) if llm.tasks is None else None
        self.prompt_templates = (self.template,)

    def list_measures(self) -> Sequence[str]:
        return (*_MEASURES, "answers_contradict") if self.judge else _MEASURES

    def explain_gap(self) -> str:
        return (
            ""
            if self._find_talks()
            else "the data set has no users with goals: dataset=simulated has"
        )

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """The measures of each conversation, at its first turn; and how many the judge could not
        judge.
        """
        talks, said, problems = self._find_talks(), dict[str, list[TurnRecord]](), list[str]()
        for record in records:
            said.setdefault(record.conversation_id, []).append(record)
        played = [(talks[name], turns) for name, turns in said.items() if name in talks]
        judged = map_parallel(partial(self._measure, problems), played, "judging")
        values = {turns[0].turn_id: found for (_, turns), found in zip(played, judged, strict=True)}
        line = f"Goals: {len(problems)} replies of the judge could not be used, such as: {problems[:1]}"
        return Measurement(values, report=Report("judging", (line,)) if problems else None)

    def _find_talks(self) -> dict[str, PlayedConversation]:
        return {
            each.id: each
            for each in self.dataset.conversations()
            if isinstance(each, PlayedConversation)
        }

    def _measure(
        self, problems: list[str], played: tuple[PlayedConversation, Sequence[TurnRecord]]
    ) -> dict[str, float]:
        talk, records = played
        answers, ends = (
            [record.answer.text for record in records],
            [record.labels.get("goal") for record in records],
        )
        if not any(
            ends
        ):  # questions of an earlier run, which nobody has listened to the answers of
            ends = [
                "reached" if talk.is_reached(answers[:n]) else None
                for n in range(1, len(answers) + 1)
            ]
        needed = ends.index("reached") + 1 if "reached" in ends else talk.most_turns
        given = [[*map(fact.is_given, answers)] for fact in talk.facts]
        values = {
            "goal_reached": "reached" in ends,
            "turns_left": talk.most_turns - needed,
            "turns_needed": needed,
            "questions_repeated": sum(record.labels.get("asked") == "again" for record in records),
            "facts_given": fmean(map(any, given)),
        }
        asked = [
            (place, fact - 1)
            for place, record in enumerate(records)
            if (fact := record.labels.get("fact"))
        ]
        # of the answers to a question for a fact that an earlier one gave: whether they give it
        if kept := [
            given[fact][place]
            for place, fact in asked
            if 0 <= fact < len(given) and any(given[fact][:place])
        ]:
            values["facts_kept"] = fmean(kept)
        return {name: float(value) for name, value in values.items()} | self._ask_judge(
            talk, records, problems
        )

    def _ask_judge(
        self, talk: PlayedConversation, records: Sequence[TurnRecord], problems: list[str]
    ) -> dict[str, float]:
        if self.judge is None:
            return {}
        from convrag_metrics.verdicts import GoalVerdicts, verdicts_form

        form, said = verdicts_form(len(talk.facts), GoalVerdicts), talk.prompt_inputs(records)
        if (reply := self.judge.ask(self.template, form, problems, **said)) is None:
            return {}
        given, contradicts = fmean(reply.verdicts), float(reply.contradiction)
        return {
            "goal_reached": float(reply.reached),
            "facts_given": given,
            "answers_contradict": contradicts,
        }
