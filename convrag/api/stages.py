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
from convrag.api.evidence import Evidence
from convrag.api.passages import Hit, Nugget, Passage, Selection
from convrag.api.queries import Query, Rewrite, SearchStep
from convrag.api.records import TurnRecord
from convrag.api.stage import Embedder, Stage, remembered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from omegaconf import DictConfig


class Dataset(Stage):
    """Provides conversations, and where it has them corpora, relevance judgements and reference answers."""

    @abstractmethod
    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in a fixed order. Ids of conversations and turns are unique.
        Raises DataError.
        """

    def domains(self) -> Sequence[str]:
        """Return the names of the corpora; each conversation has one of them as its domain."""
        return ("default",)

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Yield the passages of a domain in a fixed order. Ids are unique. Raises DataError."""
        return iter(())

    def corpus_parts(self, domain: str) -> Iterator[CorpusPart]:
        """Yield the passages of a domain in parts, in the order of `corpus`; by default all in one,
        which has no key.

        Override it where a change touches few passages: with a key for each part, the others are
        not read again.
        """
        yield CorpusPart("", lambda: self.corpus(domain))

    def corpus_fingerprint(self, domain: str) -> str:
        """Return a hash of the domain's passages, under which indexes are kept. By default, read
        them all.
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
        """Return the document that a passage was cut from (`metadata["document"]`); None where
        there is none.
        """
        return None

    def explain_missing_corpus(self, domain: str) -> str:
        """Say why a domain has no passages and where to get them ("They are licensed: ..."). By
        default, nothing.
        """
        return ""

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Return turn id -> passage id -> grade of relevance. Turns without judgements are absent."""
        return {}

    def rewrites(self) -> Mapping[str, Mapping[str, str]]:
        """Return the rewrites that were published: kind ("manual") -> turn id -> rewritten
        question. Raises DataError.

        `rewriter=replay rewriter.kind=manual` takes them from here.
        """
        return {}


class Chunker(Stage):
    """Cuts documents into passages; only data sets that are made of documents use it."""

    @abstractmethod
    def chunk(self, document: Document) -> Sequence[Passage]:
        """Cut a document into the passages to search, in the order of the text; none where it has
        no words.

        Each is a span of the document's text, made by `convrag.sdk.data.document_passages`.
        Passages may overlap. What it raises ends the run.
        """


class Memory(Stage):
    """Chooses what of a conversation's history the later stages of a turn see, and in which form."""

    @abstractmethod
    def view(self, question: Question) -> MemoryView:
        """Return the turns that stand in place of `question.history`. If it fails, the whole
        history is seen.

        The conversation itself keeps all its turns: the next question comes with the whole history
        again.

        Args:
            question: the question of the turn, with the whole history as the setting `history`
                gives it.
        """


class Rewriter(Stage):
    """Rewrites a question of a conversation as a query that can be understood without the conversation."""

    @abstractmethod
    def rewrite(self, question: Question) -> Rewrite:
        """Rewrite a question with its history as one or more standalone queries; the first is the
        question.

        If it raises anything but RunStopped, or gives no query with a word, the question as it was
        asked is the query, and the turn's record says why. A rewriter that falls back by itself
        returns `Rewrite.of(question.text, fallback="why")`.

        Args:
            question: the question; `question.history` is what the memory lets it see, oldest first.
        """


class Search(Stage):
    """Decides for what a turn searches: once, several times, each with what was found in view, or not at all."""

    several: bool = True
    """Whether a turn may search other than once for what its rewriter says; where not, `plan` is
    not called.
    """

    @abstractmethod
    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        """Plan the next search; one without queries ends the searching. If it fails, what was
        planned so far counts.

        Before the first search, `question.queries` is what the rewriter says; if planning that
        fails, it is searched for.

        Args:
            question: the question of the turn; `question.standalone` is its rewrite.
            steps: that were made in this turn, with what they found.
            seconds: that the stages of the turn have taken so far.
        """

    def join(self, question: Question, steps: Sequence[SearchStep], k: int) -> list[Hit]:
        """Return at most k different passages of all steps, best first. By default, the best of
        each step in turn.

        A single step keeps its scores; otherwise the score is 1 / rank.

        Args:
            question: as for `plan`.
            steps: all of the turn; there may be none.
            k: how many passages are wanted.
        """
        if len(steps) == 1:
            return list(steps[0].hits[:k])
        ranked = [
            hit.passage for row in zip_longest(*(step.hits for step in steps)) for hit in row if hit
        ]
        distinct = {passage.id: passage for passage in reversed(ranked)}
        found = list(dict.fromkeys(passage.id for passage in ranked))[:k]
        return [Hit(distinct[id_], 1 / rank) for rank, id_ in enumerate(found, 1)]


class Retriever(Stage):
    """Finds passages for queries."""

    reads_conversation: bool = False
    """Whether `retrieve_for` reads more of a turn than its queries; one that searches with others
    asks them so then.
    """

    @abstractmethod
    @remembered()
    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        """Return at most k different passages for the weighted queries of one rewrite, best first.

        All queries have the same turn and domain. Each retriever combines them in its own way: BM25
        adds weighted scores, a dense retriever adds weighted vectors, others fuse ranks. What it
        raises fails the turn: its record has the error, and later turns go on.

        Args:
            queries: with their weights; there may be none, which find nothing.
            k: how many passages are wanted, 0 or more.
        """

    def retrieve_for(self, question: Question, queries: Sequence[Query], k: int) -> list[Hit]:
        """Return passages as `retrieve` does, for the question of a turn. By default, for its
        queries alone.

        Override it, and set `reads_conversation`, where the encoder of queries reads the whole
        conversation: make a query of `retrieve`, which is remembered, of what it reads:
        `retriever=sparse retriever.query=conversation` joins the question and the history as its
        model was trained, and calls `retrieve` with this text as the only query.
        """
        return self.retrieve(queries, k)

    def explain(self, queries: Sequence[Query]) -> Mapping[str, Any]:
        """Say how the queries were read, as plain data for the record: `read_as`, words that others
        stand for.
        """
        return {}

    def index(self) -> Sequence[str]:
        """Build the index for `task=index`, and return sentences that say what was done. By
        default, call `prepare`.

        Override it only if the index does not belong into `prepare`: it takes hours to build, or is
        on a server.
        """
        self.prepare()
        return ()


class Ranker(Stage):
    """Scores texts for a query. Its groups are `ranker` (for clusters of nuggets) and `reranker` (for passages)."""

    @abstractmethod
    @remembered(array="float64")
    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts for a query: (n,) scores, higher is better. Texts with equal scores keep
        their order.

        If a reranker raises, the passages keep the retriever's order, and the turn's record says
        why.

        Args:
            query: the standalone question.
            texts: n texts, title and text of passages or clusters of nuggets; n may be 0.
        """

    def score_for(self, question: Question, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score n texts as `score` does, for the question of a turn. By default, for its rewrite.

        Override it to read the conversation: make the `query` of `score`, which is remembered, of
        what is read.
        """
        return self.score(question.standalone, texts)


class Selector(Stage):
    """Chooses which of the ranked passages the model sees, and how many."""

    @abstractmethod
    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """Choose passages among the hits. If it fails, the first n are taken.

        Args:
            question: the question of the turn; `question.standalone` is its rewrite.
            hits: the first `top_k` passages of the ranking, best first.
            n: how many the run wants, its `top_n` (at least 0). A selector that decides on the
                number takes it as a hint.
        """


class Context(Stage):
    """Decides in which form the model sees the chosen passages."""

    @abstractmethod
    def assemble(
        self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]
    ) -> Evidence:
        """Make the evidence, numbered for citation, of the chosen passages. What it raises fails
        the turn.

        Args:
            question: the question to answer.
            hits: the chosen passages, best first.
            messages: the earlier messages that will be sent along. A passage may be replaced by a
                hint only if its full text stands in them.
        """


class Generator(Stage):
    """Answers questions from evidence."""

    streams: bool = False
    """Whether the answer is a single reply of an LLM, so that it can be streamed piece by piece."""

    def messages(self, question: Question) -> Sequence[Message]:
        """Return the earlier messages that `generate` will send along; they leave room for the full
        evidence.
        """
        return ()

    def read(self, question: Question) -> Question:
        """Return a question as the rewriter is to read it: its text with what it replies to, and
        the history.

        An empty text asks for nothing: no stage searches, and `generate` is given no evidence. What
        it raises fails the turn.
        """
        return question

    @abstractmethod
    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """Answer a question from its evidence. The answer cites passages of the evidence only.

        What it raises (LLMError, where the model gives no reply) fails the turn: its record has the
        error, and later turns go on.

        Args:
            question: the question; `question.standalone` is its rewrite.
            evidence: the numbered passages; there may be none.
        """


class Detector(Stage):
    """Finds the parts of a passage that answer a query."""

    @abstractmethod
    @remembered()
    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """Return the nuggets, with offsets into `passage.text` and in its order; the list may be
        empty.

        What it raises reaches the stage that asked, as with the clusterer and the summarizer.

        Args:
            query: the standalone question.
            passage: the passage to look into.
        """


class Clusterer(Stage):
    """Groups texts by topic."""

    uses_embedder: ClassVar[bool] = True
    """Whether `cluster` may ask the embedder for vectors; where it never does, none need be built
    for it.
    """

    @abstractmethod
    @remembered(array="int64")
    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """Return (n,) labels for n texts, counted from 0; no number is left out. The label -1 means
        an outlier.

        Args:
            texts: n texts; n may be 0.
            embedder: is at its service, where it needs vectors.
        """

    def describe(self, texts: Sequence[str], labels: Sequence[int]) -> Mapping[int, Sequence[str]]:
        """Return label -> words that describe the topic of its texts, the most telling first. By
        default, no words.

        Args:
            texts: n texts.
            labels: of the n texts, as the caller has grouped them; a negative one is left out.
        """
        return {}


class Summarizer(Stage):
    """Summarizes a cluster of nuggets in one sentence."""

    @abstractmethod
    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        """Return one sentence on the query, supported by the nuggets of one cluster.

        Args:
            query: the standalone question.
            nuggets: of one cluster, the most relevant first.
            words: the most words of the sentence.
        """


class Metrics(Stage):
    """Measures the turns of a run. Several metrics can be chosen at once, each as `metrics.<name>`."""

    reads: ClassVar[Sequence[Literal["ranking", "answer"]]] = ("ranking", "answer")
    """What it measures of a turn. Remarks about the other part do not concern a reader of its
    scores.
    """

    @abstractmethod
    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Return turn id -> measure -> value. Leave out turns to which a measure does not apply.

        A metric that also reports on the run as a whole returns a `Measurement` with the report. If
        it raises, the run has no values of this metric, says why, and counts as partial.

        Args:
            records: the records of the run, with the replies of language models; they can be
                iterated several times.
        """

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """Return the scores of a set of turns, given the mean of each measure over them. By
        default, these means.

        Override it for scores that are no means over turns, such as F1 or corpus BLEU: `measure`
        gives the counts of each turn, and this returns the ratio of their means. Called for all
        turns, for the turns of each domain, turn position and label. A measure that no turn of the
        set has is absent from `means`.
        """
        return means

    def list_measures(self) -> Sequence[str]:
        """Return the names of all measures that it may give: first the one that stands for it in a
        leaderboard.

        Nothing, the default, where they are not known beforehand; its first measure then stands for
        it. With the names, a grid whose `sweep.metric` none of its metrics gives is refused before
        it runs.
        """
        return ()

    def explain_gap(self) -> str:
        """Return why it can measure no turn of its data set ("the data set has no qrels"); by
        default, empty.

        Asked after a run in which it measured nothing, and before a grid whose `sweep.metric` is
        one of its measures.
        """
        return ""


class Tracker(Stage):
    """Logs runs. A tracker is an observer: it implements any of the observing hooks of convrag.api.hookspecs.

    The turns of conversations reach it only where it has a parameter `traces` that is true.
    """


class Task(Stage):
    """Does the work of the command: run, index, chat, ..."""

    @abstractmethod
    def execute(self, config: DictConfig, folder: Path) -> int:
        """Do the task with the composed configuration, writing files below `folder`.

        A ConvragError that it raises is printed without a traceback, and ends the command with
        status 2.

        Args:
            config: the whole configuration.
            folder: of this run of the command; it exists. If it stays empty, it is removed.

        Returns:
            The exit status: 0, 1 if it failed, 3 if part of the work is missing (some turns failed,
            say).
        """


def _describe_value(value: object) -> str:
    """Describe a value of a passage's metadata in the same way in every process; sets have no order
    of their own.
    """
    return repr(sorted(map(repr, value))) if isinstance(value, set | frozenset) else repr(value)
