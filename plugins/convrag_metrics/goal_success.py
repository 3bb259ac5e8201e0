"""`metrics=goal_success`: whether and how soon simulated users reached their goal."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from convrag import LLM, Dataset, Measurement, Metrics, PromptTemplate, Report, TurnRecord
from convrag.sdk.data.simulated import PlayedConversation
from convrag.sdk.llm.judges import Judge
from convrag.sdk.llm.sampling import Temperature
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
    """Whether simulated users reach their goal, in how many turns, and which facts they were given.

    The users are those of dataset=simulated. goal_reached is 1 where the user was content, else 0;
    turns_needed how many turns that took, and all that a user has where it was not reached;
    turns_left the rest of these: higher is better, so that `sweep.metric=turns_left` puts the
    system first that needs fewest turns. questions_repeated is how often the user had to ask again.
    facts_given is the share of the facts that some answer gives, by its words and numbers;
    facts_kept the share of those asked for again after they were given that the later answer still
    gives. Where `llm` is a language model, it judges goal_reached and facts_given, and
    answers_contradict is 1 where two of our answers contradict each other. Each conversation counts
    once: its first turn has its values.

    Args:
        dataset: has the goals and the facts.
        llm: the judge, which should be neither the model that answers nor the one that plays the
            users.
        temperature: the temperature of its calls; None leaves it to the llm.
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
        temperature: Temperature | None = 0.0,
        prompt: Path | None = None,
    ) -> None:
        self.dataset = dataset
        self.template = PromptTemplate("goal", package="convrag_metrics", path=prompt)
        self.judge = Judge("llm", llm, {"temperature": temperature}) if llm.tasks is None else None
        self.prompt_templates = (self.template,)

    def list_measures(self) -> Sequence[str]:
        return (*_MEASURES, "answers_contradict") if self.judge else _MEASURES

    def explain_gap(self) -> str:
        if self._find_played():
            return ""
        return "the data set has no users with goals: dataset=simulated has"

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Measure each conversation at its first turn, and report unusable replies of the judge."""
        conversations = self._find_played()
        turns: dict[str, list[TurnRecord]] = {}
        for record in records:
            if record.conversation_id in conversations:
                turns.setdefault(record.conversation_id, []).append(record)
        problems: list[str] = []
        measure = partial(self._measure_conversation, problems)
        played = [(conversations[name], own) for name, own in turns.items()]
        judged = map_parallel(measure, played, "judging")
        values = {}
        for (_, own), found in zip(played, judged, strict=True):
            values[own[0].turn_id] = found
        report = None
        if problems:
            line = (
                f"Goals: {len(problems)} replies of the judge could not be used, such as: "
                f"{problems[:1]}"
            )
            report = Report("judging", (line,))
        return Measurement(values, report=report)

    def _find_played(self) -> dict[str, PlayedConversation]:
        """Find the conversations of the data set that simulated users play, by their ids."""
        return {
            conversation.id: conversation
            for conversation in self.dataset.conversations()
            if isinstance(conversation, PlayedConversation)
        }

    def _measure_conversation(
        self, problems: list[str], played: tuple[PlayedConversation, Sequence[TurnRecord]]
    ) -> dict[str, float]:
        conversation, records = played
        answers = [record.answer.text for record in records]
        ends = [record.labels.get("goal") for record in records]
        if not any(ends):  # the questions are an earlier run's: no user has read these answers
            ends = [
                "reached" if conversation.is_reached(answers[:count]) else None
                for count in range(1, len(answers) + 1)
            ]
        is_reached = "reached" in ends
        needed = ends.index("reached") + 1 if is_reached else conversation.most_turns
        # for each fact, whether each answer gives it
        given = [[fact.is_given(answer) for answer in answers] for fact in conversation.facts]
        values = {
            "goal_reached": float(is_reached),
            "turns_left": float(conversation.most_turns - needed),
            "turns_needed": float(needed),
            "questions_repeated": float(
                sum(record.labels.get("asked") == "again" for record in records)
            ),
            "facts_given": fmean(any(by_answer) for by_answer in given),
        }
        kept = _list_kept_facts(records, given)
        if kept:
            values["facts_kept"] = fmean(kept)
        return values | self._ask_judge(conversation, records, problems)

    def _ask_judge(
        self, conversation: PlayedConversation, records: Sequence[TurnRecord], problems: list[str]
    ) -> dict[str, float]:
        """Ask the judge, if there is one; `problems` gets a message about an unusable reply."""
        if self.judge is None:
            return {}
        from convrag_metrics.verdicts import GoalVerdicts, verdicts_form

        form = verdicts_form(len(conversation.facts), GoalVerdicts)
        inputs = conversation.prompt_inputs(records)
        reply = self.judge.ask(self.template, form, problems, **inputs)
        if reply is None:
            return {}
        return {
            "goal_reached": float(reply.reached),
            "facts_given": fmean(reply.verdicts),
            "answers_contradict": float(reply.contradiction),
        }


def _list_kept_facts(records: Sequence[TurnRecord], given: Sequence[Sequence[bool]]) -> list[bool]:
    """List whether answers give the facts asked for that an earlier answer gave.

    Args:
        records: the turns; the label "fact" is the number, from 1, of the fact asked for.
        given: for each fact, whether each answer gives it.
    """
    kept = []
    for turn, record in enumerate(records):
        number = record.labels.get("fact")
        if number and 1 <= number <= len(given):
            by_answer = given[number - 1]
            if any(by_answer[:turn]):
                kept.append(by_answer[turn])
    return kept
