"""The stages of a turn: one abstract class each, with one main method.

The Hydra group, the name of a constructor's parameter and the class say the same word (`rewriter=`, `rewriter:`,
`Rewriter`). One stage object serves all conversations and is called from many threads: what is not thread-safe takes a
lock, and what belongs to a conversation lives in `question.state(self)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from convrag.api.types import (
    Answer,
    Completion,
    Conversation,
    Evidence,
    Hit,
    Message,
    Nugget,
    Passage,
    Prompt,
    Query,
    Question,
    Report,
    Rewrite,
    TurnRecord,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from omegaconf import DictConfig

F = TypeVar("F", bound=Callable[..., Any])


def remembered(*, each: str = "", array: str = "") -> Callable[[F], F]:
    """Mark a stage method whose results the store keeps.

    Args:
        each: name of the parameter whose items are remembered one by one; without it, the call as a whole.
        array: dtype of the numpy array that the method returns; without it, the return annotation is plain data.
    """

    def mark(method: F) -> F:
        method.__dict__["remembered"] = (each, array)
        return method

    return mark


class Wording(Protocol):
    """A prompt's task and its text; `convrag.PromptTemplate` has both."""

    @property
    def task(self) -> str:
        """What the prompt asks for ("rewrite")."""

    @property
    def source(self) -> str:
        """The template."""


class Stage(ABC):
    """What all stages share. Subclasses take parameters by keyword, and keep heavy imports out of their module."""

    fingerprint: str = ""
    """Identity over option, parameters, injected stages, files read and source; empty for a stage built by hand."""

    requires: ClassVar[Mapping[str, str]] = {}
    """Modules that are not among its distribution's dependencies -> what to install: `{"torch": "convrag[neural]"}`.

    They are looked for, not imported, before `check` is asked.
    """

    env_vars: ClassVar[Sequence[str]] = ()
    """Environment variables that the class knows to read; task=doctor says which of them are set."""

    prompt_templates: Sequence[Wording] = ()
    """The prompts that the stage asks with, set in its constructor: part of its fingerprint, and kept with a run."""

    def check(self) -> Iterable[str]:
        """What is missing (a key, a file, a server), one message each, with what to do; asked before the first turn."""
        return ()

    def prepare(self) -> None:
        """Do now what would delay the first turn: load a model, build an index. Called once, after all checks."""

    def content_hash(self) -> str:
        """A hash of what the stage reads besides its parameters and its prompts (files); part of its fingerprint.

        Parameters that are paths count by the contents of their files, unless this says something.
        """
        return ""

    def note(self) -> str:
        """A sentence for the run's summary, where a reader should know something about this stage; else empty."""
        return ""

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """What the stage has to say about the turns of a run as a whole; None where that is nothing.

        Args:
            records: those of the run, which can be gone through several times.
        """
        return None


class Dataset(Stage):
    """Conversations, and where it has them corpora, relevance judgements and reference answers."""

    @abstractmethod
    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in a fixed order; ids of conversations and turns are unique. Raises DataError."""

    def domains(self) -> Sequence[str]:
        """The names of its corpora; each conversation has one of them as its domain."""
        return ("default",)

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the passages of a domain in a fixed order; ids are unique. Raises DataError."""
        return iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of the domain's passages, under which indexes are kept. This default reads them all."""
        from hashlib import blake2b

        digest = blake2b(digest_size=16)
        for passage in self.corpus(domain):
            digest.update(repr((passage.id, passage.title, passage.text, passage.url)).encode())
        return digest.hexdigest()

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Turn id -> passage id -> grade of relevance; turns that are not scored are absent."""
        return {}


class LLM(Stage):
    """A language model behind one door."""

    streams: bool = False
    """Whether `complete` hands its reply piece by piece to `convrag.store.streaming.listener()`, where there is one."""

    @property
    def tasks(self) -> Collection[str] | None:
        """The tasks (see `Prompt`) that it has rules for, where it is no language model; None: it can do any."""
        return None

    @abstractmethod
    @remembered()
    def complete(self, prompt: Prompt) -> Completion:
        """Answer a prompt. Raises LLMError where there is no usable reply after the retries."""

    @abstractmethod
    def count_tokens(self, text: str) -> int:
        """The number of tokens of a text as this model counts them."""

    def request(self, prompt: Prompt) -> Mapping[str, Any]:
        """What determines the reply, as plain data without secrets: with the attempt, the key of a remembered reply."""
        return {
            "llm": self.fingerprint,
            "task": prompt.task,
            "messages": prompt.messages,
            "inputs": prompt.inputs,
            "sampling": prompt.sampling,
        }


class Embedder(Stage):
    """Turns texts into vectors."""

    @abstractmethod
    @remembered(each="texts", array="float32")
    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """N texts -> (n, d) float32; rows have unit length, but a text without any known content is a zero row.

        Args:
            texts: short texts (utterances, sentences); n may be 0.
            query: whether they are queries, for models that treat queries apart from passages.
        """


class Rewriter(Stage):
    """Makes a question stand alone."""

    @abstractmethod
    def rewrite(self, question: Question) -> Rewrite:
        """A question with its history -> at least one standalone query. Should it raise, the question is used."""


class Retriever(Stage):
    """Finds passages."""

    @abstractmethod
    @remembered()
    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        """The weighted queries of one rewrite -> at most k different passages, best first.

        All queries have the same turn and domain. How they combine is the retriever's own affair: BM25 adds weighted
        scores, a dense retriever adds weighted vectors, others fuse ranks.
        """

    def index(self) -> Sequence[str]:
        """Build what `retrieve` searches, for `task=index`, and say in sentences what was done; by default `prepare`.

        Only a retriever whose index does not belong into `prepare` (it takes hours, or lies on a server) has its own.
        """
        self.prepare()
        return ()


class Ranker(Stage):
    """Scores texts for a query; offered as `ranker` (clusters of nuggets) and as `reranker` (passages)."""

    @abstractmethod
    @remembered(array="float64")
    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """A query and n texts -> (n,) scores, higher is better; equal scores keep the order in which texts came."""


class Context(Stage):
    """Decides what of the retrieved passages the model sees, and how."""

    @abstractmethod
    def assemble(self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]) -> Evidence:
        """Passages, best first, and the earlier messages that will be sent -> the evidence, numbered for citation.

        A passage may be replaced by a hint only where its full text stands in `messages`.
        """


class Generator(Stage):
    """Answers a question from evidence."""

    streams: bool = False
    """Whether the answer is one reply of an LLM, so that its pieces can be shown as they come."""

    def messages(self, question: Question) -> Sequence[Message]:
        """The earlier messages that `generate` will send along, with room reserved for full evidence."""
        return ()

    @abstractmethod
    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """A question and its evidence -> an answer whose citations are in the evidence."""


class Detector(Stage):
    """Finds the parts of a passage that answer a query."""

    @abstractmethod
    @remembered()
    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """A query and a passage -> nuggets with offsets into `passage.text`, in order of appearance; maybe none."""


class Clusterer(Stage):
    """Groups texts by what they are about."""

    @abstractmethod
    @remembered(array="int64")
    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """N texts (n may be 0), and a way to embed them -> (n,) labels from 0 on; -1 is an outlier."""


class Summarizer(Stage):
    """Says in one sentence what a cluster of nuggets says."""

    @abstractmethod
    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        """A query, the nuggets of one cluster and a budget in words -> one sentence that the nuggets support."""


class Metrics(Stage):
    """Measures the records of a run; several can be chosen at once, each under `metrics.<name>`."""

    @abstractmethod
    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Records -> turn id -> measure -> value. Turns that a measure does not apply to are absent from its means.

        A metric that has something to say about the run as a whole returns a `Measurement` with a report.

        Args:
            records: those of the run, as they were when their turns ended, with the replies of language models; they
                can be gone through several times.
        """

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """The means of a set of turns -> the numbers to show for it, which need not be means of turns.

        Called for all turns, and for those of each domain, turn position and label. A ratio of totals (an F1, a corpus
        BLEU) is one of the means of its counts; return it instead of them. A measure that no turn of the set has is
        absent from `means`.
        """
        return means


class Tracker(Stage):
    """Keeps runs. A tracker is an observer: it implements any of the observing hooks of convrag.hookspecs."""


class Task(Stage):
    """What the command does."""

    @abstractmethod
    def execute(self, config: DictConfig, folder: Path) -> int:
        """Do it with the composed configuration, writing below `folder`; return the exit status."""


GROUPS: Mapping[str, type[Stage]] = {
    "task": Task,
    "dataset": Dataset,
    "llm": LLM,
    "embedder": Embedder,
    "rewriter": Rewriter,
    "retriever": Retriever,
    "reranker": Ranker,
    "context": Context,
    "generator": Generator,
    "detector": Detector,
    "clusterer": Clusterer,
    "ranker": Ranker,
    "summarizer": Summarizer,
    "metrics": Metrics,
    "tracker": Tracker,
}
"""Every Hydra group and the class of its options, in the order in which a reader meets them."""

OPTION_KEY = "_option_"
"""The key in a stage's configuration that names the option; all others are its parameters."""

SEVERAL = frozenset({"metrics"})
"""The groups of which a run may choose more than one option."""


def options_group(group: str) -> str:
    """The group under which plugins register a group's options: rerankers are the rankers."""
    return "ranker" if group == "reranker" else group
