"""The base class of all stages, the mark of methods whose results are kept, and the models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from convrag.api.completions import Completion, Prompt
from convrag.api.records import Report, TurnRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


F = TypeVar("F", bound=Callable[..., Any])


def remembered(*, each: str = "", array: str = "") -> Callable[[F], F]:
    """Mark a stage method whose results the store keeps: the same call is not computed again.

    Args:
        each: the name of a parameter that is a list: the result for each of its items has a key of
            its own. If empty, the whole call has one key.
        array: the dtype of the numpy array that the method returns. If empty, the result is plain
            data or dataclasses, as the return annotation says.
    """

    def mark(method: F) -> F:
        method.__dict__["remembered"] = (each, array)
        return method

    return mark


class Wording(Protocol):
    """The task and the template of a prompt; `convrag.PromptTemplate` has both."""

    @property
    def task(self) -> str:
        """The name of what the prompt asks for ("rewrite")."""

    @property
    def source(self) -> str:
        """The template."""


class Stage(ABC):
    """The base class of all stages.

    Subclasses take keyword parameters, and import heavy libraries inside methods.
    """

    fingerprint: str = ""
    """A hash of all that bears on results; empty for a stage built by hand.

    It covers the option, the parameters, the injected stages, `content_hash()`, `endpoints()`, the
    prompts, the source of the class, of its base classes and of the modules of convrag that they
    use, and the versions of the libraries that its code reaches.
    """

    series: str = ""
    """The same hash without the contents of files; empty for a stage built by hand.

    A data set has the same series before and after its files change, so that an index of the new
    passages replaces the old one.
    """

    requires: ClassVar[Mapping[str, str]] = {}
    """Optional module -> what to install for it: `{"torch": "convrag[neural]"}`.

    convrag looks for the modules, without importing them, before it calls `check`.
    """

    libraries: ClassVar[Sequence[str]] = ()
    """Distributions, as pip names them, whose versions bear on results: `("scikit-learn",)`.

    They are part of the fingerprint. Need not be named here: the libraries of `requires`, and those
    of convrag's functions that the stage calls.
    """

    env_vars: ClassVar[Sequence[str]] = ()
    """Environment variables that the class reads; task=doctor lists which of them are set."""

    prompt_templates: Sequence[Wording] = ()
    """The prompts of the stage, set in its constructor: part of its fingerprint and of a run."""

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """Return whether the chosen parameters use an injected stage; by default, they use all.

        A stage that is not used is neither built nor prepared, and the constructor gets None for
        it: a search by words needs no embedder.

        Args:
            name: the name of the stage's parameter ("embedder").
            parameters: the other parameters by name: all values, and the stages before this one.
        """
        return True

    def check(self) -> Iterable[str]:
        """Return a message, with what to do, for each missing key, file or server.

        It is called before the first turn. `{place}` in a message becomes the stage's place in the
        configuration: "name a folder: {place}.path=..." is shown as "retriever.path=...".
        """
        return ()

    def prepare(self) -> None:
        """Load models and build indexes, so that the first turn need not wait.

        It is called once, after all checks.
        """

    def load_libraries(self) -> None:
        """Import the heavy libraries of the calls, which must import them all the same.

        It is called before the first call whose result is not in the store, for one stage at a
        time: when threads import parts of one library at once, some get half-imported modules.
        """

    def content_hash(self) -> str:
        """Return a hash of the files that the stage reads; it is part of the fingerprint.

        If it is empty, each parameter that is a path counts with the contents of its file. Prompts
        count in any case.
        """
        return ""

    def endpoints(self) -> Sequence[str]:
        """Return the addresses of the servers that results come from, without passwords and keys.

        They are part of the fingerprint. Parameters are so in any case, so return the addresses
        that come from the environment.
        """
        return ()

    def note(self) -> str:
        """Return a sentence for readers of the run's scores; by default, none."""
        return ""

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Return the stage's report on a whole run, or None.

        Args:
            records: the records of the run; they can be iterated several times.
        """
        return None


class LLM(Stage):
    """Answers prompts, as a language model does."""

    streams: bool = False
    """Whether `complete` streams: it calls `current_listener()` with each piece of its reply.

    See `convrag.concurrency.streaming`.
    """

    @property
    def tasks(self) -> Collection[str] | None:
        """The tasks (see `Prompt`) that a stage of rules can do; None for a language model."""
        return None

    @abstractmethod
    @remembered()
    def complete(self, prompt: Prompt) -> Completion:
        """Answer a prompt. Raises LLMError if there is no usable reply after the retries."""

    @abstractmethod
    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, as this model's tokenizer does."""

    def request(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return all that determines the reply, as plain data without secrets.

        With the attempt, it is the key of the reply in the store.
        """
        request: dict[str, Any] = {
            "llm": self.fingerprint,
            "task": prompt.task,
            "messages": prompt.messages,
            "inputs": prompt.inputs,
            "sampling": prompt.sampling,
        }
        if prompt.schema:
            request["schema"] = prompt.schema
        return request


class Embedder(Stage):
    """Turns texts into vectors."""

    @abstractmethod
    @remembered(each="texts", array="float32")
    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Embed n texts as (n, d) float32.

        Rows have unit length; a text without any known word gives a row of zeros.

        Args:
            texts: short texts (utterances, sentences); n may be 0.
            query: whether the texts are queries, for models that embed queries and passages
                differently.
        """
