"""`generator=ginger`: detect, merge, cluster, rank, summarise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
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
    Report,
    Summarizer,
    TurnRecord,
)
from convrag.sdk.sentences import get_first_sentence
from convrag_ginger.attribution import Attributor, CitedSentence, LlmSupportJudge, add_citations, number_passages
from convrag_ginger.clusters import SEPARATOR, Cluster, OutlierPolicy, group_by_label
from convrag_ginger.duplicates import MergedNugget, merge_duplicates
from convrag_ginger.fluency import FluencyEditor
from convrag_ginger.length_limit import LengthLimit, count_words, join_sentences, truncate_sentence
from convrag_ginger.report import report_outcomes


class GingerGenerator(Generator):
    """Answer from information nuggets: detect, cluster and rank them, and say each of the best clusters in a sentence.

    Every sentence cites the passages of the nuggets that it rests on. The trace holds all nuggets with their offsets,
    the clusters with their scores, their order, and each sentence with its citations and whether its nuggets support
    it. Fewer nuggets than `few` are a cluster each, and a single one gives a single sentence. Without nuggets, the
    answer says that the passages do not answer the question (`outcome`: answered, single or unanswerable).

    Args:
        llm: rephrases and checks, if `fluency` or `check` ask for it.
        detector: finds the nuggets in each passage.
        clusterer: groups them by the facet of the question that they answer.
        embedder: is given to the clusterer, and finds the nearest cluster of an outlier.
        ranker: orders the clusters, their nuggets joined, by relevance; equal scores keep the order of the passages.
        summarizer: says in one sentence what a cluster says.
        res_length_limit: the most sentences, of `words` words each; 100 means 400 words instead (GINGER's convention).
        words: the most words of a sentence (35: GINGER).
        clusters: how many of the best clusters are summarised; None: as many as the length allows, so 3 by default
            (GINGER).
        few: the fewest nuggets that are clustered (4: GINGER, whose clusterer needs so many).
        outliers: what becomes of nuggets that belong to no cluster: "own" (one cluster of all of them: GINGER),
            "singletons" (a cluster each), "nearest" (the most similar cluster), "drop". Default: an outlier may still
            be the answer.
        duplicates: a nugget is merged into another one that has all of its content words and the same numbers and
            negations, if these are at least this share of the other's content words, 0 to 1. One that stands literally
            in another is always merged.
        support: the least share of a sentence's content words that its nuggets must have, 0 to 1. With less, or with a
            number or a negation that they lack, the trace flags it as unsupported. Default: most of its words.
        check: what decides that: the "words", or the "llm" (a call for each sentence).
        fluency: whether the LLM rephrases the answer as a whole. A sentence keeps its old wording where the new one is
            too long, is several sentences, or loses its support.
        unanswerable: the answer where there is no nugget.
        prompt: a Jinja file to use instead of this package's fluency.jinja; it is given `question` and `text` (a
            sentence on each line).
        temperature: of rephrasing and checking; 0 gives the likeliest reply, None leaves it to the llm.

    Raises:
        ConfigError: a number is out of range.
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("bm25s",)

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
        outliers: OutlierPolicy = "singletons",
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
        self.limit = LengthLimit.of(res_length_limit, words)
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
        support_prompt = PromptTemplate("support", package="convrag_ginger")
        self.attributor = Attributor(
            support, LlmSupportJudge(llm, support_prompt, sampling) if check == "llm" else None
        )
        fluency_prompt = PromptTemplate("fluency", package="convrag_ginger", path=prompt)
        self.editor = FluencyEditor(
            llm, fluency_prompt, sampling, attributor=self.attributor, limit=self.limit, words=words
        )
        self.prompt_templates = (fluency_prompt, *((support_prompt,) if check == "llm" else ()))

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """How many turns had an answer, and how many sentences are unsupported."""
        return report_outcomes(records)

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """Run all steps. Raises LLMError where the detector or the summarizer does."""
        query = question.standalone or question.text
        nuggets = self._detect(query, evidence)
        merged = merge_duplicates(nuggets, self.duplicates)
        clusters = self._cluster(query, merged) if merged else []
        order = sorted(range(len(clusters)), key=lambda index: -clusters[index].score)
        sentences = self._summarize(query, nuggets, clusters, order)
        if not sentences:
            trace: dict[str, Any] = {
                "outcome": "unanswerable",
                "query": query,
                "nuggets": [asdict(nugget) for nugget in nuggets],
            }
            return Answer(self.unanswerable, (), trace)
        fluency = "off"
        if self.fluency:
            sentences, reason = self.editor.rephrase(query, sentences)
            fluency = f"kept: {reason}" if reason else "on"
        numbers = number_passages(evidence)
        text = join_sentences(add_citations(sentence.text, sentence.passages, numbers) for sentence in sentences)
        cited = [sorted(sentence.passages, key=numbers.__getitem__) for sentence in sentences]
        trace = {
            "outcome": "answered" if len(merged) > 1 else "single",
            "query": query,
            "nuggets": [asdict(nugget) for nugget in nuggets],
            "merged": len(nuggets) - len(merged),
            "clusters": [
                {"nuggets": cluster.members, "score": cluster.score, "outlier": cluster.outlier} for cluster in clusters
            ],
            "order": order,
            "sentences": [_trace_of(sentence) for sentence in sentences],
            "fluency": fluency,
        }
        return Answer(text, tuple(dict.fromkeys(passage for passages in cited for passage in passages)), trace)

    def _detect(self, query: str, evidence: Evidence) -> list[Nugget]:
        """The nuggets of all passages, in the order of the evidence; a hint stands for its passage."""
        passages = {item.passage.id: item.passage for item in reversed(evidence.items)}
        ordered = dict.fromkeys(item.passage.id for item in evidence.items)
        return [nugget for name in ordered for nugget in self.detector.detect(query, passages[name])]

    def _cluster(self, query: str, nuggets: Sequence[MergedNugget]) -> list[Cluster]:
        """Scored clusters in the order in which they appear in the passages."""
        texts = [nugget.text for nugget in nuggets]
        labels = list(range(len(texts)))
        if len(texts) >= self.few:
            labels = [int(label) for label in self.clusterer.cluster(texts, self.embedder)]
        if len(labels) != len(texts):
            raise ConvragError(f"{type(self.clusterer).__name__} gave {len(labels)} labels for {len(texts)} texts")
        groups = group_by_label(labels, texts, self.embedder, self.outliers)
        scores = self.ranker.score(query, [SEPARATOR.join(texts[index] for index in members) for members in groups])
        if len(scores) != len(groups):
            raise ConvragError(f"{type(self.ranker).__name__} gave {len(scores)} scores for {len(groups)} clusters")
        return [
            Cluster(tuple(nuggets[index] for index in members), float(score), all(labels[i] < 0 for i in members))
            for members, score in zip(groups, scores, strict=True)
        ]

    def _summarize(
        self, query: str, nuggets: Sequence[Nugget], clusters: Sequence[Cluster], order: Sequence[int]
    ) -> list[CitedSentence]:
        """A sentence for each of the best clusters, until the limit is reached; each text once."""
        sentences: dict[str, CitedSentence] = {}
        for index in order[: self.clusters]:
            if len(sentences) == self.limit.sentences:
                break
            representatives = [merged.nugget for merged in clusters[index].nuggets]
            summary = self.summarizer.summarize(query, representatives, self.words)
            text = truncate_sentence(get_first_sentence(summary), self.words)
            if not text or text in sentences:
                continue
            if count_words([*sentences, text]) > self.limit.words:
                break
            members = [nuggets[member] for member in clusters[index].members]
            sentences[text] = self.attributor.attribute(text, index, members)
        return list(sentences.values())


def _trace_of(sentence: CitedSentence) -> dict[str, Any]:
    return {name: value for name, value in asdict(sentence).items() if name != "nuggets"}
