"""A language model that creates nuggets, labels their importance, and assigns them to answers (TREC
RAG).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import Passage, PromptTemplate
from convrag.sdk.llm.judges import Judge, passage_inputs
from convrag.sdk.text.answers import ReferenceTurn
from convrag_judging.nugget_judgements import NuggetAssessment
from convrag_judging.nugget_scores import LabelParser, NuggetSet, parse_assignment, parse_importance


@dataclass(frozen=True)
class NuggetLimits:
    """How many passages (`window`) or nuggets (`batch`) a call has, the most nuggets, and the most words of one.

    The defaults are TREC RAG's AutoNuggetizer's.
    """

    window: int = 10
    batch: int = 10
    nuggets: int = 30
    words: int = 12


@dataclass
class NuggetAssessor:
    """Asks one LLM. Labels that it does not give in the form asked for, also when asked again, are left empty.

    Each method adds a message to `problems` for a call that failed, or a reply in another form.

    Args:
        judge: the model, and its name.
        prompts: of the three tasks: nuggetise, importance and assign.
        limits: the sizes of windows, batches and lists.
    """

    judge: Judge
    prompts: Mapping[str, PromptTemplate]
    limits: NuggetLimits

    def create_nuggets(
        self, turn: ReferenceTurn, passages: Sequence[Passage], problems: list[str]
    ) -> list[str]:
        """The facts that a good answer states, window after window of passages; each reply replaces
        the list.

        A reply that cannot be read, or is empty, leaves the list as it is.
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
        """Label nuggets: their importance, unless they have it, and whether the answer supports
        them.

        An empty answer supports none, and no call is made for it.
        """
        texts = nuggets.texts
        importance, assignment = list(nuggets.importance), ["none"] * len(texts)
        if not importance:
            form = self.prompts["importance"], turn, texts, parse_importance, "vital, okay"
            importance = self._label(*form, problems)
        if answer.strip():
            support = (
                self.prompts["assign"],
                turn,
                texts,
                parse_assignment,
                "support, partial, none",
            )
            assignment = self._label(*support, problems, answer=answer)
        return NuggetAssessment.from_complete(self.judge.name, texts, importance, assignment)

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
        """A label for each nugget, asked for in batches; an empty string for a label that is
        missing.
        """
        from convrag_judging.reply_forms import LabelList, labels_form

        labels: list[str] = []
        for start in range(0, len(nuggets), self.limits.batch):
            batch = list(nuggets[start : start + self.limits.batch])
            form = labels_form(len(batch), parse, choices)
            given = {**turn.prompt_inputs(), "nuggets": batch, **inputs}
            reply = self.judge.ask(template, form, problems, LabelList, **given)
            found = [parse(label) or "" for label in reply.labels[: len(batch)]] if reply else []
            labels += found + [""] * (len(batch) - len(found))
        return labels

    def _ask_for_nuggets(
        self,
        turn: ReferenceTurn,
        window: Sequence[Mapping[str, str]],
        nuggets: Sequence[str],
        problems: list[str],
    ) -> list[str]:
        from convrag_judging.reply_forms import NuggetList, nuggets_form

        most, longest = self.limits.nuggets, self.limits.words
        inputs = {
            **turn.prompt_inputs(),
            "passages": window,
            "nuggets": nuggets,
            "most": most,
            "words": longest,
        }
        reply = self.judge.ask(
            self.prompts["nuggetise"], nuggets_form(most, longest), problems, NuggetList, **inputs
        )
        found = reply.nuggets if reply else []
        return _remove_duplicates(
            nugget for nugget in found if 1 <= len(nugget.split()) <= longest
        )[:most]


def _remove_duplicates(nuggets: Iterable[str]) -> list[str]:
    """Each nugget once, whatever its case, on one line."""
    found: dict[str, str] = {}
    for nugget in (" ".join(nugget.split()) for nugget in nuggets):
        if nugget:
            found.setdefault(nugget.casefold(), nugget)
    return list(found.values())
