"""One model that judges: it makes nuggets, weighs them, and looks for them in answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from convrag import LLM, LLMError, Passage, Prompt, PromptTemplate
from convrag.sdk.structured_output import UnreadableReply, ask_json, read_json
from convrag_judging.asked import Asked
from convrag_judging.labels import Reader, assignment_of, importance_of


@dataclass(frozen=True)
class Templates:
    """The prompts of the three steps."""

    nuggetise: PromptTemplate
    importance: PromptTemplate
    assign: PromptTemplate


@dataclass(frozen=True)
class Limits:
    """How much is asked at a time, and for how much. The defaults are those of TREC RAG's AutoNuggetizer."""

    window: int = 10
    batch: int = 10
    nuggets: int = 30
    words: int = 12


@dataclass
class Assessor:
    """Asks one LLM. What it does not say in the form asked for, also when asked again, is left open and noted.

    Args:
        name: of the parameter that the LLM was given as.
        llm: the model.
        templates: the prompts.
        limits: of lists.
        sampling: of all calls.
    """

    name: str
    llm: LLM
    templates: Templates
    limits: Limits
    sampling: dict[str, Any] = field(default_factory=dict)

    def nuggets(self, asked: Asked, passages: Sequence[Passage], problems: list[str]) -> list[str]:
        """The facts that a good answer states, window after window of passages; each reply takes the list's place.

        A reply that cannot be read, or is empty, leaves the list as it is.
        """
        found: list[str] = []
        for start in range(0, len(passages), self.limits.window):
            window = [as_input(passage) for passage in passages[start : start + self.limits.window]]
            limits = {"most": self.limits.nuggets, "words": self.limits.words}
            prompt = self._prompt(self.templates.nuggetise, asked, passages=window, nuggets=found, **limits)
            found = self._list(prompt, problems) or found
        return found

    def importance(self, asked: Asked, nuggets: Sequence[str], problems: list[str]) -> list[str]:
        """Vital or okay for each nugget; empty where that is not known."""
        return self._labels(self.templates.importance, asked, nuggets, importance_of, "vital, okay", problems)

    def assignment(self, asked: Asked, nuggets: Sequence[str], answer: str, problems: list[str]) -> list[str]:
        """Support, partial or none for each nugget; empty where that is not known."""
        choices = "support, partial, none"
        return self._labels(self.templates.assign, asked, nuggets, assignment_of, choices, problems, answer=answer)

    def _list(self, prompt: Prompt, problems: list[str]) -> list[str]:
        from convrag_judging.forms import Nuggets, nuggets_form

        most, longest = self.limits.nuggets, self.limits.words
        try:
            return _distinct(ask_json(self.llm, prompt, nuggets_form(most, longest)).nuggets)
        except UnreadableReply as error:
            problems.append(f"nuggetise: {error.complaint}")
            try:
                nuggets = read_json(error.text, Nuggets).nuggets
            except UnreadableReply:
                return []
            return _distinct(nugget for nugget in nuggets if 1 <= len(nugget.split()) <= longest)[:most]
        except LLMError as error:
            problems.append(f"nuggetise: {error}")
            return []

    def _labels(
        self,
        template: PromptTemplate,
        asked: Asked,
        nuggets: Sequence[str],
        read: Reader,
        choices: str,
        problems: list[str],
        **inputs: Any,
    ) -> list[str]:
        labels: list[str] = []
        for start in range(0, len(nuggets), self.limits.batch):
            batch = list(nuggets[start : start + self.limits.batch])
            prompt = self._prompt(template, asked, nuggets=batch, **inputs)
            labels += self._batch(prompt, len(batch), read, choices, problems)
        return labels

    def _batch(self, prompt: Prompt, count: int, read: Reader, choices: str, problems: list[str]) -> list[str]:
        """So many labels; of a reply with fewer, or with others, what can be read."""
        from convrag_judging.forms import Labels, labels_form

        try:
            given = ask_json(self.llm, prompt, labels_form(count, read, choices)).labels
        except UnreadableReply as error:
            problems.append(f"{prompt.task}: {error.complaint}")
            try:
                given = read_json(error.text, Labels).labels
            except UnreadableReply:
                given = []
        except LLMError as error:
            problems.append(f"{prompt.task}: {error}")
            given = []
        known = [read(label) or "" for label in given[:count]]
        return known + [""] * (count - len(known))

    def _prompt(self, template: PromptTemplate, asked: Asked, **inputs: Any) -> Prompt:
        return template.render(dict(self.sampling), **asked.inputs(), **inputs)


def as_input(passage: Passage) -> dict[str, str]:
    """A passage as prompts are given it; a title that the text begins with is not said twice."""
    return {"title": "" if passage.text.startswith(passage.title) else passage.title, "text": passage.text}


def _distinct(nuggets: Iterable[str]) -> list[str]:
    """Each nugget once, on one line, whatever its case."""
    found: dict[str, str] = {}
    for nugget in (" ".join(nugget.split()) for nugget in nuggets):
        if nugget:
            found.setdefault(nugget.casefold(), nugget)
    return list(found.values())
