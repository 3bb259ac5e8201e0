"""A language model that creates nuggets, labels their importance, and assigns them to answers (TREC RAG)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from convrag import LLM, Passage, Prompt, PromptTemplate
from convrag.sdk.answers import ReferenceTurn
from convrag.sdk.judges import ask_for_form, passage_inputs
from convrag_judging.nugget_judgements import NuggetAssessment
from convrag_judging.nugget_scores import LabelParser, NuggetSet, parse_assignment, parse_importance


@dataclass(frozen=True)
class NuggetPrompts:
    """The prompts of the three steps: creation, importance and assignment."""

    nuggetise: PromptTemplate
    importance: PromptTemplate
    assign: PromptTemplate


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
        name: the assessor's name: the parameter that the LLM was given as.
        llm: the model.
        prompts: the prompts of the three steps.
        limits: the sizes of windows, batches and lists.
        sampling: sampling parameters of all calls.
    """

    name: str
    llm: LLM
    prompts: NuggetPrompts
    limits: NuggetLimits
    sampling: dict[str, Any] = field(default_factory=dict)

    def create_nuggets(self, turn: ReferenceTurn, passages: Sequence[Passage], problems: list[str]) -> list[str]:
        """The facts that a good answer states, window after window of passages; each reply replaces the list.

        A reply that cannot be read, or is empty, leaves the list as it is.
        """
        nuggets: list[str] = []
        for start in range(0, len(passages), self.limits.window):
            window = [passage_inputs(passage) for passage in passages[start : start + self.limits.window]]
            limits = {"most": self.limits.nuggets, "words": self.limits.words}
            prompt = self._render(self.prompts.nuggetise, turn, passages=window, nuggets=nuggets, **limits)
            nuggets = self._ask_for_nuggets(prompt, problems) or nuggets
        return nuggets

    def assess(self, turn: ReferenceTurn, nuggets: NuggetSet, answer: str, problems: list[str]) -> NuggetAssessment:
        """Label nuggets: their importance, unless they have it, and whether the answer supports them.

        An empty answer supports none, and no call is made for it.
        """
        texts = nuggets.texts
        importance, assignment = list(nuggets.importance), ["none"] * len(texts)
        if not importance:
            form = self.prompts.importance, turn, texts, parse_importance, "vital, okay"
            importance = self._label(*form, problems)
        if answer.strip():
            support = self.prompts.assign, turn, texts, parse_assignment, "support, partial, none"
            assignment = self._label(*support, problems, answer=answer)
        return NuggetAssessment.from_complete(self.name, texts, importance, assignment)

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
        """A label for each nugget, asked for in batches; an empty string for a label that is missing."""
        labels: list[str] = []
        for start in range(0, len(nuggets), self.limits.batch):
            batch = list(nuggets[start : start + self.limits.batch])
            prompt = self._render(template, turn, nuggets=batch, **inputs)
            labels += self._ask_for_labels(prompt, len(batch), parse, choices, problems)
        return labels

    def _ask_for_nuggets(self, prompt: Prompt, problems: list[str]) -> list[str]:
        from convrag_judging.reply_forms import NuggetList, nuggets_form

        most, longest = self.limits.nuggets, self.limits.words
        reply = ask_for_form(self.llm, prompt, nuggets_form(most, longest), NuggetList, "nuggetise", problems)
        nuggets = reply.nuggets if reply else []
        return _remove_duplicates(nugget for nugget in nuggets if 1 <= len(nugget.split()) <= longest)[:most]

    def _ask_for_labels(
        self, prompt: Prompt, count: int, parse: LabelParser, choices: str, problems: list[str]
    ) -> list[str]:
        """`count` labels; an empty string for each that the reply lacks, or that is none of the choices."""
        from convrag_judging.reply_forms import LabelList, labels_form

        form = labels_form(count, parse, choices)
        reply = ask_for_form(self.llm, prompt, form, LabelList, prompt.task, problems)
        labels = [parse(label) or "" for label in reply.labels[:count]] if reply else []
        return labels + [""] * (count - len(labels))

    def _render(self, template: PromptTemplate, turn: ReferenceTurn, **inputs: Any) -> Prompt:
        return template.render(dict(self.sampling), **turn.prompt_inputs(), **inputs)


def _remove_duplicates(nuggets: Iterable[str]) -> list[str]:
    """Each nugget once, whatever its case, on one line."""
    found: dict[str, str] = {}
    for nugget in (" ".join(nugget.split()) for nugget in nuggets):
        if nugget:
            found.setdefault(nugget.casefold(), nugget)
    return list(found.values())
