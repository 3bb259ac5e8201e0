"""Language models as judges of answers: which were given, how they are asked, how far they agree
with themselves.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any, TypeVar

from convrag.api.errors import LLMError
from convrag.api.passages import Passage
from convrag.api.stage import LLM
from convrag.sdk.llm.prompts import PromptTemplate
from convrag.store.remember import answer_again

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")

T = TypeVar("T")


@dataclass(frozen=True)
class Judge:
    """A language model that judges.

    Args:
        name: the parameter that it was given as.
        llm: the model.
        sampling: parameters of all calls.
    """

    name: str
    llm: LLM
    sampling: Mapping[str, Any] = field(default_factory=dict)

    def ask(
        self,
        template: PromptTemplate,
        form: type[M],
        problems: list[str],
        other: type[M] | None = None,
        **inputs: Any,
    ) -> M | None:
        """Ask for a reply in a form, at most twice; None where the call failed, or the reply has no
        form.

        Args:
            template: of the prompt.
            form: that is asked for.
            problems: gets a message about a failed call, or a reply that broke the form.
            other: a lenient form, which is read from a second reply that breaks the strict one.
            **inputs: of the prompt.
        """
        from convrag.sdk.llm.structured_output import UnreadableReply, ask_json, read_json

        try:
            return ask_json(self.llm, template.render(dict(self.sampling), **inputs), form)
        except UnreadableReply as error:
            problems.append(f"{self.name}: {error.complaint}")
            with suppress(UnreadableReply):
                return read_json(error.text, other or form)
        except LLMError as error:
            problems.append(f"{self.name}: {error}")
        return None


def name_judges(
    models: Sequence[LLM | None], temperature: float | None, repeat: int = 1
) -> list[Judge]:
    """The models that were given as `llm`, `second_llm` and `third_llm`; 0 becomes 1 where `repeat`
    needs sampling.
    """
    sampling = {"temperature": temperature if repeat == 1 or temperature != 0 else 1.0}
    names = ("llm", "second_llm", "third_llm")
    return [
        Judge(name, llm, sampling)
        for name, llm in zip(names, models, strict=False)
        if llm is not None
    ]


def check_tasks(judges: Sequence[Judge], tasks: Sequence[str], metric: str) -> Iterator[str]:
    """A message for each rule-based model that has no rule for one of the tasks; language models
    know every task.
    """
    for name, model in ((judge.name, judge.llm) for judge in judges):
        known = model.tasks
        lacking = [task for task in tasks if known is not None and task not in known]
        if lacking:
            yield (
                f"{type(model).__name__} is no language model, and has no rule for {', '.join(lacking)}: choose one "
                f"with metrics.{metric}.{name}=..., or leave metrics={metric} out"
            )


def passage_inputs(passage: Passage) -> dict[str, str]:
    """A passage as prompts are given it; the title is empty where the text begins with it already."""
    return {
        "title": "" if passage.text.startswith(passage.title) else passage.title,
        "text": passage.text,
    }


def repeat_calls(judge: Callable[[], T], repeat: int) -> list[T]:
    """Call a function so many times; the calls of language models in each are new ones."""
    found = []
    for attempt in range(repeat):
        with answer_again(attempt):
            found.append(judge())
    return found


class Repeats:
    """How often judges differ from themselves where each is asked several times."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._differing: Counter[str] = Counter()
        self._variance: Counter[str] = Counter()

    def average(self, values: Sequence[Mapping[str, float]]) -> dict[str, float]:
        """The mean of each measure of a turn over its repetitions, as far as they have it."""
        means = {}
        for name in dict.fromkeys(name for each in values for name in each):
            given = [each[name] for each in values if name in each]
            means[name] = fmean(given)
            if len(given) > 1:
                self._asked[name] += 1
                self._differing[name] += min(given) != max(given)
                self._variance[name] += variance(given) / len(given)  # type: ignore[assignment]
        return means

    def add(self, other: "Repeats") -> None:
        """Count what another has counted, too."""
        self._asked += other._asked
        self._differing += other._differing
        self._variance += other._variance

    def describe(self) -> Iterator[str]:
        """A sentence for each measure that was asked for several times."""
        for name, asked in self._asked.items():
            error = self._variance[name] ** 0.5 / asked
            yield (
                f"{name}: asked again, the judge differs from itself on {self._differing[name] / asked:.0%} of {asked} "
                f"answers; its noise moves the mean by {error:.3f} (one standard error, which the interval contains)"
            )
