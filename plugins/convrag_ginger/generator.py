"""`generator=ginger`: detect, merge, cluster, rank, summarise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from convrag import (
    LLM,
    Answer,
    Clusterer,
    ConfigError,
    ConvragError,
    Detector,
    Embedder,
    Evidence,
    Generator,
    Nugget,
    PromptTemplate,
    Question,
    Ranker,
    Summarizer,
)
from convrag.sdk.sentences import first_sentence
from convrag_ginger.attribution import Judge
from convrag_ginger.citing import cite, numbers_of
from convrag_ginger.clusters import Policy, groups
from convrag_ginger.duplicates import Finding, merged
from convrag_ginger.fluency import Editor
from convrag_ginger.length_limit import Length, clipped, joined, word_count
from convrag_ginger.statements import Checker, Statement

SEPARATOR = ";\n"
"""Between the nuggets of a cluster, where it is ranked as one text: one on each line, which ranker=size counts."""


@dataclass(frozen=True)
class Cluster:
    """The findings that belong together, and how relevant they are."""

    findings: tuple[Finding, ...]
    score: float
    outlier: bool = False

    @property
    def members(self) -> list[int]:
        """The positions of all nuggets, in order."""
        return sorted(member for finding in self.findings for member in finding.members)


class GingerGenerator(Generator):
    """Answer from information nuggets: detect, cluster and rank them, and say each of the best clusters in a sentence.

    Every sentence cites the passages of the nuggets that it rests on. The trace holds all nuggets with their places,
    the clusters with their scores, the order, and each sentence with its citations and whether its nuggets support it.
    Fewer nuggets than `few` are clusters of their own; a single one gives a single sentence; without any the question
    cannot be answered from the passages, and the answer says so (`outcome`: answered, single or unanswerable).

    Args:
        llm: rephrases and checks, where that is asked for.
        detector: finds the nuggets in each passage.
        clusterer: groups them by the facet of the question that they answer.
        embedder: is at the clusterer's service, and tells which cluster is nearest to an outlier.
        ranker: orders the clusters, their nuggets joined, by relevance; equal scores keep the order of the passages.
        summarizer: says in one sentence what a cluster says.
        res_length_limit: the most sentences, of `words` words each; 100 means 400 words instead (GINGER's convention).
        words: the most words of a sentence (35: GINGER).
        clusters: how many of the best clusters are summarised; None: as many as the length allows, so 3 by default
            (GINGER).
        few: the fewest nuggets that are clustered (4: GINGER, whose clusterer cannot do with fewer).
        outliers: what becomes of nuggets that belong to no cluster: "own" (one cluster of all of them: GINGER),
            "singletons" (each by itself), "nearest" (the most similar cluster), "drop". Default: what is like nothing
            else may still be the answer.
        duplicates: nuggets are merged if one has no content word, number or negation that another lacks, and this share
            of the other's content words at least, 0 to 1; one that stands literally in another always is.
        support: the least share of a sentence's content words that its nuggets must have, 0 to 1; with less, or with a
            number or a negation that they lack, the trace flags it as unsupported. Default: most of its words.
        check: who judges that: the "words", or the "llm" (a call for each sentence).
        fluency: whether the LLM rephrases the answer as a whole; a sentence that gets too long, becomes several, or
            loses its support, stays as it was.
        unanswerable: the answer where there is no nugget.
        prompt: a Jinja file to use instead of this package's fluency.jinja; it is given `question` and `text` (a
            sentence on each line).
        temperature: of rephrasing and checking; 0 gives the likeliest reply, None leaves it to the llm.

    Raises:
        ConfigError: a number is out of range.
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        detector: Detector,
        clusterer: Clusterer,
        embedder: Embedder,
        ranker: Ranker,
        summarizer: Summarizer,
        res_length_limit: int = 3,
        words: int = 35,
        clusters: int | None = None,
        few: int = 4,
        outliers: Policy = "singletons",
        duplicates: float = 0.8,
        support: float = 0.5,
        check: Literal["words", "llm"] = "words",
        fluency: bool = False,
        unanswerable: str = "The passages do not answer this question.",
        prompt: Path | None = None,
        temperature: float | None = 0.0,
    ) -> None:
        if clusters is not None and clusters < 1:
            raise ConfigError(f"generator.clusters={clusters}: at least 1, or null for as many as the length allows")
        if not 0 <= duplicates <= 1 or not 0 <= support <= 1:
            raise ConfigError(f"generator.duplicates={duplicates} and generator.support={support}: between 0 and 1")
        self.length = Length.of(res_length_limit, words)
        self.detector = detector
        self.clusterer = clusterer
        self.embedder = embedder
        self.ranker = ranker
        self.summarizer = summarizer
        self.words = words
        self.clusters = clusters
        self.few = few
        self.outliers = outliers
        self.duplicates = duplicates
        self.fluency = fluency
        self.unanswerable = unanswerable
        sampling = {"temperature": temperature}
        self.editor = Editor(llm, PromptTemplate("fluency", package="convrag_ginger", path=prompt), sampling)
        judge = Judge(llm, PromptTemplate("support", package="convrag_ginger"), sampling) if check == "llm" else None
        self.checker = Checker(support, judge)

    def content_hash(self) -> str:
        """The wording of the prompts that can be replaced."""
        return self.editor.template.hash

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """All steps in turn. Raises LLMError where the detector or the summarizer does."""
        query = question.standalone or question.text
        nuggets = self._detect(query, evidence)
        findings = merged(nuggets, self.duplicates)
        clusters = self._cluster(query, findings) if findings else []
        order = sorted(range(len(clusters)), key=lambda index: -clusters[index].score)
        statements = self._write(query, nuggets, clusters, order)
        if not statements:
            found = [asdict(nugget) for nugget in nuggets]
            return Answer(self.unanswerable, (), {"outcome": "unanswerable", "query": query, "nuggets": found})
        statements, kept = self._rephrase(query, statements)
        numbers = numbers_of(evidence)
        text = joined(cite(statement.text, statement.passages, numbers) for statement in statements)
        cited = [sorted(statement.passages, key=numbers.__getitem__) for statement in statements]
        trace = {
            "outcome": "answered" if len(findings) > 1 else "single",
            "query": query,
            "nuggets": [asdict(nugget) for nugget in nuggets],
            "merged": len(nuggets) - len(findings),
            "clusters": [
                {"nuggets": cluster.members, "score": cluster.score, "outlier": cluster.outlier} for cluster in clusters
            ],
            "order": order,
            "sentences": [_traced(statement) for statement in statements],
            "fluency": kept,
        }
        return Answer(text, tuple(dict.fromkeys(passage for passages in cited for passage in passages)), trace)

    def _detect(self, query: str, evidence: Evidence) -> list[Nugget]:
        """The nuggets of all passages, in the order of the evidence; a hint stands for its passage."""
        passages = {item.passage.id: item.passage for item in reversed(evidence.items)}
        ordered = dict.fromkeys(item.passage.id for item in evidence.items)
        return [nugget for name in ordered for nugget in self.detector.detect(query, passages[name])]

    def _cluster(self, query: str, findings: Sequence[Finding]) -> list[Cluster]:
        """Scored clusters in the order in which they appear in the passages."""
        texts = [finding.text for finding in findings]
        labels = list(range(len(texts)))
        if len(texts) >= self.few:
            labels = [int(label) for label in self.clusterer.cluster(texts, self.embedder)]
        if len(labels) != len(texts):
            raise ConvragError(f"{type(self.clusterer).__name__} gave {len(labels)} labels for {len(texts)} texts")
        found = groups(labels, texts, self.embedder, self.outliers)
        scores = self.ranker.score(query, [SEPARATOR.join(texts[index] for index in members) for members in found])
        if len(scores) != len(found):
            raise ConvragError(f"{type(self.ranker).__name__} gave {len(scores)} scores for {len(found)} clusters")
        return [
            Cluster(tuple(findings[index] for index in members), float(score), all(labels[i] < 0 for i in members))
            for members, score in zip(found, scores, strict=True)
        ]

    def _write(
        self, query: str, nuggets: Sequence[Nugget], clusters: Sequence[Cluster], order: Sequence[int]
    ) -> list[Statement]:
        """A sentence for each of the best clusters, until the next would be too much; none is said twice."""
        statements: dict[str, Statement] = {}
        for index in order[: self.clusters]:
            if len(statements) == self.length.sentences:
                break
            chosen = [finding.nugget for finding in clusters[index].findings]
            text = clipped(first_sentence(self.summarizer.summarize(query, chosen, self.words)), self.words)
            if not text or text in statements:
                continue
            if word_count([*statements, text]) > self.length.words:
                break
            members = [nuggets[member] for member in clusters[index].members]
            statements[text] = self.checker.statement(text, index, members)
        return list(statements.values())

    def _rephrase(self, query: str, statements: list[Statement]) -> tuple[list[Statement], str]:
        """The statements in better words, and what the trace says of that."""
        if not self.fluency:
            return statements, "off"
        texts, kept = self.editor.rephrase(query, [statement.text for statement in statements])
        new = list(statements)
        for index, text in enumerate(texts):
            others = [statement.text for statement in (*new[:index], *new[index + 1 :])]
            room = min(self.words, self.length.words - word_count(others))
            new[index] = self.checker.rephrased(statements[index], text, room)
        return new, f"kept: {kept}" if kept else "on"


def _traced(statement: Statement) -> dict[str, Any]:
    return {name: value for name, value in asdict(statement).items() if name != "nuggets"}
