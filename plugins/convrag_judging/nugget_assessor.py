"""A language model as an assessor of nuggets: it creates, labels and assigns them (TREC RAG)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import Passage, PromptTemplate
from convrag.sdk.llm.judges import Judge, passage_inputs
from convrag.sdk.text.analysis import count_words
from convrag.sdk.text.answers import ReferenceTurn
from convrag_judging.nugget_judgements import NuggetAssessment
from convrag_judging.nugget_labels import (
    LabelParser,
    NuggetSet,
    parse_assignment,
    parse_importance,
)


@dataclass(frozen=True)
class NuggetLimits:
    """The sizes of calls and replies; the defaults are those of TREC RAG's AutoNuggetizer.

    Args:
        window: passages per call.
        batch: nuggets per call.
        nuggets: the most nuggets of a question.
        words: the most words of a nugget.
    """

    window: int = 10
    batch: int = 10
    nuggets: int = 30
    words: int = 12


@dataclass
class NuggetAssessor:
    """An assessor that asks one language model.

    A label is left empty if the model does not give it in the form asked for, even when it is asked
    again. Each method adds a message to `problems` for a call that failed, or a reply in another
    form.

    Args:
        judge: the model, and its name.
        prompts: the prompts of the three tasks: nuggetise, importance and assign.
        limits: the sizes of windows, batches and lists.
    """

    judge: Judge
    prompts: Mapping[str, PromptTemplate]
    limits: NuggetLimits

    def create_nuggets(
        self, turn: ReferenceTurn, passages: Sequence[Passage], problems: list[str]
    ) -> list[str]:
        """List the facts that a good answer states.

        The model reads window after window of passages, and each reply replaces the list. A reply
        that cannot be read, or is empty, leaves the list as it is.
        """
        nuggets: list[str] = []
        for start in range(0, len(passages), self.limits.window):
            window = [
                passage_inputs(passage) for passage in passages[start : start + self.limits.window]
            ]
            nuggets = self._ask_for_nuggets(turn, window, nuggets, problems) or nuggets
        return nuggets

    def assess(
        self, turn: ReferenceTurn, nuggets: NuggetSet, answer: str, problems: list[str]
    ) -> NuggetAssessment:
        """Label nuggets: their importance, if it is unknown, and whether the answer supports them.

        An empty answer supports none, and no call is made for it.
        """
        importance = list(nuggets.importance)
        if not importance:
            importance = self._label(
                self.prompts["importance"],
                turn,
                nuggets.texts,
                parse_importance,
                "vital, okay",
                problems,
            )
        assignment = ["none"] * len(nuggets.texts)
        if answer.strip():
            assignment = self._label(
                self.prompts["assign"],
                turn,
                nuggets.texts,
                parse_assignment,
                "support, partial, none",
                problems,
                answer=answer,
            )
        return NuggetAssessment.from_complete(
            self.judge.name, nuggets.texts, importance, assignment
        )

    def _label(
        self,
        template: PromptTemplate,
        turn: ReferenceTurn,
        nuggets: Sequence[str],
        parse: LabelParser,
        choices: str,
        problems: list[str],
        **inputs: Any,
    ) -> list[str]:
        """Ask for a label of each nugget, in batches; a missing label is an empty string."""
        from convrag_judging.reply_forms import LabelList, labels_form

        labels: list[str] = []
        for start in range(0, len(nuggets), self.limits.batch):
            batch = list(nuggets[start : start + self.limits.batch])
            form = labels_form(len(batch), parse, choices)
            given = {**turn.prompt_inputs(), "nuggets": batch, **inputs}
            reply = self.judge.ask(template, form, problems, LabelList, **given)
            found = [""] * len(batch)
            if reply is not None:
                for place, label in enumerate(reply.labels[: len(batch)]):
                    found[place] = parse(label) or ""
            labels += found
        return labels

    def _ask_for_nuggets(
        self,
        turn: ReferenceTurn,
        window: Sequence[Mapping[str, str]],
        nuggets: Sequence[str],
        problems: list[str],
    ) -> list[str]:
        """Ask for the list of nuggets again, after further passages."""
        from convrag_judging.reply_forms import NuggetList, nuggets_form

        limits = self.limits
        inputs = {
            **turn.prompt_inputs(),
            "passages": window,
            "nuggets": nuggets,
            "most": limits.nuggets,
            "words": limits.words,
        }
        form = nuggets_form(limits.nuggets, limits.words)
        reply = self.judge.ask(self.prompts["nuggetise"], form, problems, NuggetList, **inputs)
        if reply is None:
            return []
        short = [nugget for nugget in reply.nuggets if 1 <= count_words(nugget) <= limits.words]
        return _remove_duplicates(short)[: limits.nuggets]


def _remove_duplicates(nuggets: Iterable[str]) -> list[str]:
    """Keep each nugget once, whatever its case, on one line."""
    distinct: dict[str, str] = {}
    for nugget in nuggets:
        line = " ".join(nugget.split())
        if line:
            distinct.setdefault(line.casefold(), line)
    return list(distinct.values())
