"""The kinds of stages: one abstract class for each, with one main method.

A stage has the same name as a Hydra group, as a constructor's parameter and as a class:
`rewriter=`, `rewriter:`, `Rewriter`. One stage object serves all conversations and is called from
many threads. Guard what is not thread-safe with a lock, and keep what belongs to one conversation
in `question.state(self)`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from convrag.api.answers import Answer
from convrag.api.completions import Message
from convrag.api.conversations import Conversation, MemoryView, Question
from convrag.api.documents import CorpusPart, Document
from convrag.api.errors import ConfigError
from convrag.api.evidence import Evidence
from convrag.api.filters import Filter
from convrag.api.passages import Candidates, Hit, Nugget, Passage, Ranking, Selection
from convrag.api.queries import Query, Rewrite, SearchStep
from convrag.api.records import TurnRecord
from convrag.api.stage import Embedder, Stage, remembered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from omegaconf import DictConfig


class Dataset(Stage):
    """Provides conversations, and perhaps corpora, relevance judgements and reference answers."""

    @abstractmethod
    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in a fixed order. Raises DataError.

        Ids of conversations and turns are unique.
        """

    def domains(self) -> Sequence[str]:
        """Return the names of the corpora; each conversation has one of them as its domain."""
        return ("default",)

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Yield the passages of a domain in a fixed order. Ids are unique. Raises DataError."""
        return iter(())

    def corpus_parts(self, domain: str) -> Iterator[CorpusPart]:
        """Yield the passages of a domain in parts, in the order of `corpus`; by default, in one.

        Override it if a change affects few passages: with a key for each part, the others are not
        read again. The only part of the default has no key.
        """
        yield CorpusPart("", lambda: self.corpus(domain))

    def corpus_fingerprint(self, domain: str) -> str:
        """Return a hash of the domain's passages, under which indexes are kept.

        By default, it reads all passages.
        """
        from hashlib import blake2b

        digest = blake2b(digest_size=16)
        for passage in self.corpus(domain):
            metadata = sorted(
                (repr(key), _describe_value(value)) for key, value in passage.metadata.items()
            )
            row = (passage.id, passage.title, passage.text, passage.url, metadata)
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def document(self, domain: str, document_id: str) -> Document | None:
        """Return the document of a passage (`metadata["document"]`); None if there is none."""
        return None

    def document_file(self, domain: str, document_id: str) -> Path | None:
        """Return the file that a document was read from; None if there is none to show.

        `task=serve task.originals=true` shows it to those who ask.
        """
        return None

    def explain_missing_corpus(self, domain: str) -> str:
        """Explain why a domain has no passages and where to get them ("They are licensed: ...")."""
        return ""

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Return turn id -> passage id -> grade of relevance, for turns with judgements."""
        return {}

    def rewrites(self) -> Mapping[str, Mapping[str, str]]:
        """Return published rewrites: kind ("manual") -> turn id -> question. Raises DataError.

        `rewriter=replay rewriter.kind=manual` takes them from here.
        """
        return {}


class Chunker(Stage):
    """Cuts documents into passages; only data sets that are made of documents use it."""

    @abstractmethod
    def chunk(self, document: Document) -> Sequence[Passage]:
        """Cut a document into the passages to search, in the order of the text.

        Each is a span of the document's text, made by `convrag.sdk.data.document_passages`.
        Passages may overlap. A document without words has none. An error ends the run.
        """


class Memory(Stage):
    """Chooses which part of a conversation's history the later stages see, and in which form."""

    @abstractmethod
    def view(self, question: Question) -> MemoryView:
        """Return the turns that replace `question.history`.

        The conversation itself keeps all its turns: the next question comes with the whole history
        again. If it fails, the later stages see the whole history.

        Args:
            question: the question of the turn, with the whole history as the setting `history`
                gives it.
        """


class Rewriter(Stage):
    """Rewrites a question as a query that can be understood without its conversation."""

    @abstractmethod
    def rewrite(self, question: Question) -> Rewrite:
        """Rewrite a question with its history as standalone queries; the first is the question.

        If it raises anything but RunStopped, or returns no query with a word, the question as it
        was asked is the query, and the turn's record has the reason. A rewriter that falls back by
        itself returns `Rewrite.of(question.text, fallback="why")`.

        Args:
            question: the question; `question.history` has the turns that the memory shows, oldest
                first.
        """


class Search(Stage):
    """Decides what a turn searches for: once, several times knowing the hits so far, or never."""

    several: bool = True
    """Whether a turn may search other than once for its rewrite; if not, `plan` is not called."""

    @abstractmethod
    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """Plan the next search; a step without queries ends the searching.

        Before the first search, `question.queries` has the queries of the rewriter. If planning
        fails, the searches so far count; if it fails before the first one, those queries are
        searched for.

        Args:
            question: the question of the turn; `question.standalone` is its rewrite.
            steps: the searches of this turn so far, with their hits.
            seconds: the time that the stages of the turn have taken so far.
        """

    def join(self, question: Question, steps: Sequence[SearchStep], k: int) -> list[Hit]:
        """Return at most k different passages of all steps, best first.

        By default, they are the best of each step in turn, then the second of each, and so on. A
        single step keeps its scores; otherwise the score is 1 / rank.

        Args:
            question: the question, as for `plan`.
            steps: all searches of the turn; there may be none.
            k: the number of passages that are wanted.
        """
        if len(steps) == 1:
            return list(steps[0].hits[:k])
        passages: dict[str, Passage] = {}
        for hits_of_rank in zip_longest(*(step.hits for step in steps)):
            for hit in hits_of_rank:
                if hit:
                    passages.setdefault(hit.passage.id, hit.passage)
        best = list(passages.values())[:k]
        return [Hit(passage, 1 / rank) for rank, passage in enumerate(best, 1)]


class Retriever(Stage):
    """Finds passages for queries."""

    reads_conversation: bool = False
    """Whether `retrieve_for` reads more of a turn than its queries.

    A retriever that asks others then calls their `retrieve_for`.
    """

    @abstractmethod
    @remembered()
    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        """Return at most k different passages for the weighted queries of one rewrite, best first.

        All queries have the same turn and domain. Each retriever combines them in its own way: BM25
        adds weighted scores, a dense retriever adds weighted vectors, others fuse ranks. An
        error, more than k passages, the same one twice, or a score that is not finite fails the
        turn: its record has the error, and later turns go on.

        Args:
            queries: the queries with their weights; without any, nothing is found.
            k: the number of passages that are wanted, 0 or more.
        """

    def retrieve_for(self, question: Question, queries: Sequence[Query], k: int) -> list[Hit]:
        """Return passages as `retrieve` does, for the question of a turn.

        By default, only its queries count. Override it, and set `reads_conversation`, if the
        encoder of queries reads the whole conversation. Make a query of what it reads, and call
        `retrieve`, whose results are cached: `retriever=sparse retriever.query=conversation` joins
        the question and the history as its model was trained, and calls `retrieve` with this text
        as the only query.
        """
        return self.retrieve(queries, k)

    def find_candidates(self, question: Question, queries: Sequence[Query], k: int) -> Candidates:
        """Return passages as `retrieve_for` does, with a trace; the turn calls this method.

        By default, there are no contenders, and the trace is that of `explain`. Override it to give
        a reranker more than k passages to choose from, or to put into the record how passages were
        found.
        """
        return Candidates(self.retrieve_for(question, queries, k), trace=self.explain(queries))

    def check_filter(self, filter: Filter, domain: str | None = None) -> None:
        """Check that this retriever can apply a filter in a domain.

        By default, a retriever cannot filter. One that overrides this obeys `Query.filter`: it
        ranks only passages that match.

        Args:
            filter: the filter.
            domain: the name of the corpus; None checks all of them.

        Raises:
            ConfigError: it cannot filter, or the corpus does not have a field of the filter.
        """
        raise ConfigError(
            f"{type(self).__name__} cannot filter passages, so {filter} cannot be applied: choose "
            "another retriever, such as retriever=bm25"
        )

    def explain(self, queries: Sequence[Query]) -> Mapping[str, Any]:
        """Return how the queries were read, as plain data for the record."""
        return {}

    def index(self) -> Sequence[str]:
        """Build the index for `task=index`, and return sentences about it; by default, `prepare`.

        Override it only if the index does not belong into `prepare`: it takes hours to build, or is
        on a server.
        """
        self.prepare()
        return ()


class Ranker(Stage):
    """Scores texts for a query.

    Its groups are `ranker` (for clusters of nuggets) and `reranker` (for passages).
    """

    @abstractmethod
    @remembered(array="float64")
    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts for a query: (n,) scores, higher is better.

        Texts with equal scores keep their order.

        If a reranker raises, or returns anything but a finite number for each text, the passages
        keep the retriever's order, and the turn's record has the reason.

        Args:
            query: the standalone question.
            texts: n texts, title and text of passages or clusters of nuggets; n may be 0.
        """

    def score_for(self, question: Question, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts as `score` does, for the question of a turn; by default, for its rewrite.

        Override it to read the conversation: make a query of what it reads, and call `score`, whose
        results are cached.
        """
        return self.score(question.standalone, texts)

    def rank_hits(self, question: Question, hits: Sequence[Hit]) -> Ranking:
        """Score the hits of a turn, with a trace; the turn calls this method of its reranker.

        By default, `score_for` scores their titles and texts. Override it to put into the record
        how the scores came about.
        """
        return Ranking(self.score_for(question, [hit.passage.content for hit in hits]))


class Selector(Stage):
    """Chooses which of the ranked passages the model sees, and how many."""

    @abstractmethod
    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """Choose passages among the hits. If it fails, the first n are taken.

        Args:
            question: the question of the turn; `question.standalone` is its rewrite.
            hits: the first `top_k` passages of the ranking, best first.
            n: the number that the run wants, its `top_n` (at least 0). A selector that decides on
                the number takes it as a hint.
        """


class Context(Stage):
    """Decides in which form the model sees the chosen passages."""

    @abstractmethod
    def assemble(
        self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]
    ) -> Evidence:
        """Make the evidence of the chosen passages, numbered for citation.

        Args:
            question: the question to answer.
            hits: the chosen passages, best first.
            messages: the earlier messages that will be sent along. A passage may be replaced by a
                hint only if they contain its full text.
        """


class Generator(Stage):
    """Answers questions from evidence."""

    streams: bool = False
    """Whether the answer is a single reply of an LLM, so that it can be streamed piece by piece."""

    def messages(self, question: Question) -> Sequence[Message]:
        """Return the earlier messages that `generate` will send, leaving room for the evidence."""
        return ()

    def read(self, question: Question) -> Question:
        """Return a question as the rewriter should read it, such as with the text it replies to.

        An empty text asks for nothing: no stage searches, and `generate` gets no evidence. An error
        fails the turn.
        """
        return question

    @abstractmethod
    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """Answer a question from its evidence. The answer cites passages of the evidence only.

        A reason under `excluded` in the answer's trace leaves the turn out of every metric; the
        summary says how many turns were left out and why. An error (LLMError, if the model gives no
        reply) fails the turn: its record has the error, and later turns go on.

        Args:
            question: the question; `question.standalone` is its rewrite.
            evidence: the numbered passages; there may be none.
        """


class Detector(Stage):
    """Finds the parts of a passage that answer a query."""

    @abstractmethod
    @remembered()
    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """Return the nuggets, with offsets into `passage.text` and in its order.

        The list may be empty. An error reaches the stage that called it, as with the clusterer and
        the summarizer.

        Args:
            query: the standalone question.
            passage: the passage to look into.
        """


class Clusterer(Stage):
    """Groups texts by topic."""

    uses_embedder: ClassVar[bool] = True
    """Whether `cluster` may ask the embedder for vectors; if not, none is built for it."""

    @abstractmethod
    @remembered(array="int64")
    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """Return (n,) labels for n texts, counted from 0 without a gap; -1 means an outlier.

        Args:
            texts: n texts; n may be 0.
            embedder: embeds texts, if vectors are needed.
        """

    def describe(self, texts: Sequence[str], labels: Sequence[int]) -> Mapping[int, Sequence[str]]:
        """Return label -> words that describe the topic, the best first; by default, no words.

        Args:
            texts: n texts.
            labels: the labels of the n texts, as the caller has grouped them; negative ones are
                ignored.
        """
        return {}


class Summarizer(Stage):
    """Summarizes a cluster of nuggets in one sentence."""

    @abstractmethod
    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        """Return one sentence on the query, supported by the nuggets of one cluster.

        Args:
            query: the standalone question.
            nuggets: the nuggets of one cluster, the most relevant first.
            words: the most words of the sentence.
        """


class Metrics(Stage):
    """Measures the turns of a run; several can be chosen at once, each as `metrics.<name>`."""

    reads: ClassVar[Sequence[Literal["ranking", "answer"]]] = ("ranking", "answer")
    """The parts of a turn that it measures; remarks about the others are not shown with it."""

    @abstractmethod
    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Return turn id -> measure -> value, without turns to which a measure does not apply.

        A metric that also reports on the run as a whole returns a `Measurement` with the report. If
        it raises, the run has no values of this metric but the reason, and counts as partial.

        Args:
            records: the records of the run, with the replies of language models; they can be
                iterated several times.
        """

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """Return the scores of a set of turns from the means of its measures.

        By default, they are the means. Override it for scores that are not means over turns, such
        as F1 or corpus BLEU: `measure` returns the counts of each turn, and this returns the ratio
        of their means. It is called for all turns, and for the turns of each domain, turn position
        and label. A measure that no turn of the set has is absent from `means`.
        """
        return means

    def list_measures(self) -> Sequence[str]:
        """Return the names of all its measures, first the one that represents it in a leaderboard.

        Return nothing, the default, if they are not known beforehand; its first measure represents
        it then. With the names, a grid whose `sweep.metric` is not a measure of any metric is
        refused before it runs.
        """
        return ()

    def explain_gap(self) -> str:
        """Return why it can measure no turn of its data set ("the data set has no qrels").

        It is called after a run without any value, and before a grid whose `sweep.metric` is one of
        its measures. By default, it is empty.
        """
        return ""


class Tracker(Stage):
    """Logs runs: an observer that implements observing hooks of `convrag.api.hookspecs`.

    The turns of conversations reach it only if it has a parameter `traces` that is true.
    """


class Task(Stage):
    """Does the work of a command, such as run, index or chat."""

    default_generator: ClassVar[str] = "ginger"
    """The generator where the user chooses none; a task that talks with people names a fast one."""

    @abstractmethod
    def execute(self, config: DictConfig, folder: Path) -> int:
        """Do the task with the composed configuration, writing files below `folder`.

        A ConvragError that it raises is printed without a traceback, and ends the command with
        status 2.

        Args:
            config: the whole configuration.
            folder: the folder of this run of the command. If it stays empty, it is removed.

        Returns:
            The exit status: 0, 1 if it failed, 3 if part of the work is missing (some turns failed,
            say).
        """


def _describe_value(value: object) -> str:
    """Describe a value of a passage's metadata in the same way in every process."""
    if isinstance(value, set | frozenset):  # it has another order in each process
        return repr(sorted(map(repr, value)))
    return repr(value)
