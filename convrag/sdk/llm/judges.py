"""Language models as judges of answers, and how far they agree with themselves."""

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
        """Ask for a reply in a form, at most twice; None where there is no such reply.

        Args:
            template: of the prompt.
            form: of the reply.
            problems: gets a message about a failed call, or about a reply in another form.
            other: a lenient form, in which a second reply is read that breaks the strict one.
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
    """Make the judges of the models that were given as `llm`, `second_llm` and `third_llm`.

    Args:
        models: in this order; None for one that was not given.
        temperature: of all calls.
        repeat: how often each is asked. Asking again needs sampling: a temperature of 0 becomes 1.
    """
    if repeat > 1 and temperature == 0:
        temperature = 1.0
    sampling = {"temperature": temperature}
    named = zip(("llm", "second_llm", "third_llm"), models, strict=False)
    return [Judge(name, llm, sampling) for name, llm in named if llm is not None]


def check_tasks(judges: Sequence[Judge], tasks: Sequence[str], metric: str) -> Iterator[str]:
    """Yield a message for each rule-based model that has no rule for one of the tasks.

    Language models know every task.
    """
    for judge in judges:
        known = judge.llm.tasks
        if known is None:
            continue
        missing = [task for task in tasks if task not in known]
        if missing:
            yield (
                f"{type(judge.llm).__name__} is not a language model, and has no rule for "
                f"{', '.join(missing)}: choose one with metrics.{metric}.{judge.name}=..., or "
                f"leave metrics={metric} out"
            )


def passage_inputs(passage: Passage) -> dict[str, str]:
    """Format a passage for a prompt; the title is empty where the text begins with it."""
    return {"title": passage.title_above, "text": passage.text}


def repeat_calls(judge: Callable[[], T], repeat: int) -> list[T]:
    """Call a function `repeat` times; each time, language models are asked anew."""
    results = []
    for attempt in range(repeat):
        with answer_again(attempt):
            results.append(judge())
    return results


class Repeats:
    """Counts how often judges differ from themselves where each is asked several times."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._differing: Counter[str] = Counter()
        self._variance: dict[str, float] = {}

    def average(self, values: Sequence[Mapping[str, float]]) -> dict[str, float]:
        """Average each measure of a turn over the repetitions that have it."""
        by_name: dict[str, list[float]] = {}
        for each in values:
            for name, value in each.items():
                by_name.setdefault(name, []).append(value)
        for name, given in by_name.items():
            if len(given) > 1:
                self._count(name, given)
        return {name: fmean(given) for name, given in by_name.items()}

    def _count(self, name: str, given: Sequence[float]) -> None:
        """Count a turn whose measure was asked for several times."""
        self._asked[name] += 1
        if min(given) != max(given):
            self._differing[name] += 1
        error = variance(given) / len(given)
        self._variance[name] = self._variance.get(name, 0.0) + error

    def add(self, other: "Repeats") -> None:
        """Add the counts of another."""
        self._asked += other._asked
        self._differing += other._differing
        for name, error in other._variance.items():
            self._variance[name] = self._variance.get(name, 0.0) + error

    def describe(self) -> Iterator[str]:
        """Yield a sentence for each measure that was asked for several times."""
        for name, asked in self._asked.items():
            share = self._differing[name] / asked
            error = self._variance[name] ** 0.5 / asked
            yield (
                f"{name}: asked again, the judge differs from itself on {share:.0%} of {asked} "
                f"answers; its noise moves the mean by {error:.3f} (one standard error, which the "
                "interval contains)"
            )
