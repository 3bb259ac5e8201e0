"""`generator=ginger`: detect, merge, cluster, rank, summarise."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Interval

from convrag import (
    LLM,
    Answer,
    Clusterer,
    ConfigError,
    Dataset,
    Detector,
    Embedder,
    Evidence,
    Nugget,
    PromptTemplate,
    Question,
    Ranker,
    Report,
    Store,
    Summarizer,
    TurnRecord,
)
from convrag.sdk.llm.sampling import Temperature
from convrag.sdk.parallel import map_parallel
from convrag.sdk.text.answerability import REFUSE, Decider, DecidingGenerator, Threshold
from convrag.sdk.text.windows import Source, rate_sentences
from convrag_ginger.attribution import (
    Attributor,
    CitedSentence,
    add_citations,
    locate_support,
    number_passages,
)
from convrag_ginger.cluster_sentences import SentenceWriter, Unsupported
from convrag_ginger.clusters import (
    Cluster,
    MergedNugget,
    NuggetClusterer,
    OutlierPolicy,
    merge_duplicates,
)
from convrag_ginger.length_limit import LengthLimit, join_sentences
from convrag_ginger.llm_detector import Untagged
from convrag_ginger.outcome_report import describe_untagged, report_outcomes
from convrag_ginger.sentences_detector import SentencesDetector


class GingerGenerator(DecidingGenerator):
    """Answer from information nuggets: detect, cluster, rank, and summarise each best cluster.

    Every sentence cites the passages of the nuggets on which it rests, and `Answer.support` names
    these. The trace holds all nuggets with their offsets, the clusters with their scores (and with
    the words of their topics, where the clusterer has any), their order, and each sentence with its
    citations and whether its nuggets support it. Fewer nuggets than `few` are a cluster each, and a
    single one gives a single sentence. Without nuggets, the answer says that the documents do not
    answer the question (`outcome`: answered, single or unanswerable). Without a language model
    each sentence is a quotation, and clusters are ordered by the share of the question that their
    best nugget covers, then by the ranker; refuse=0 leaves all to the ranker, as published.

    Args:
        llm: rephrases and checks, if `fluency` or `check` ask for it.
        detector: finds the nuggets in each passage.
        clusterer: groups them by the facet of the question that they answer.
        embedder: is given to the clusterer, and finds the nearest cluster of an outlier.
        ranker: orders the clusters, their nuggets joined, by relevance; equal scores keep the order
            of the passages.
        summarizer: says in one sentence what a cluster says.
        dataset: its corpus tells rare words of a question from common ones.
        store: keeps the document frequencies.
        res_length_limit: the most sentences, of `words` words each; 100 means 400 words instead
            (GINGER's convention).
        words: the most words of a sentence (35: GINGER). A longer one is shortened by whole
            clauses. If that cannot be done, a sentence of the nuggets is quoted, which may be
            longer as long as the answer has room for it.
        clusters: how many of the best clusters are summarised; None: as many as the length allows,
            so 3 by default (GINGER).
        few: the fewest nuggets that are clustered (4: GINGER, whose clusterer needs four).
        least_nuggets: the fewest nuggets of a cluster; smaller ones' nuggets are outliers. With 2
            (GINGER), where there are not two such clusters each nugget is a cluster, as with fewer
            than `few`.
        outliers: the treatment of nuggets that belong to no cluster: "own" (one cluster of all of
            them: GINGER), "singletons" (a cluster each), "nearest" (the most similar cluster),
            "drop". Default: an outlier may still be the answer.
        duplicates: a nugget is merged into another one that has all of its content words and the
            same numbers and negations, if these are at least this share of the other's content
            words, 0 to 1. A nugget that is a part of another one's text is always merged. None:
            nothing is merged (GINGER).
        support: the least share of a sentence's content words that its nuggets must have, 0 to 1.
            With less, or with a number or a negation that they lack, it is unsupported. Default:
            most of its words.
        check: whether the "words" decide that, or the "llm" (a call for each sentence).
        unsupported: the treatment of an unsupported sentence: "reduce" (a sentence of its nuggets
            is quoted instead; if none fits, it is left out), "drop" (it is left out), "keep" (it is
            printed, and flagged in the trace: GINGER, which does not check). The trace has the
            number of sentences that were reduced and left out.
        fluency: whether the LLM rephrases the answer as a whole. A sentence keeps its old wording
            where the new one is too long, is several sentences, or loses its support.
        refuse: without a language model, a question is refused where the best passage has less than
            this share of its words, 0 to 1, rare ones first (docs/answers.md); 0 answers all. With
            a model, a question is refused where there is no nugget.
        prompt: a Jinja file to use instead of this package's fluency.jinja; it is given `question`
            and `text` (a sentence on each line).
        temperature: of rephrasing and checking; 0 gives the likeliest reply, None leaves it to the
            llm.

    Raises:
        ConfigError: least_nuggets is above 1 with outliers=singletons.
        DataError: the prompt's file is missing or is not a template.
    """

    libraries = ("numpy",)

    def __init__(
        self,
        *,
        llm: LLM,
        detector: Detector,
        clusterer: Clusterer,
        embedder: Embedder,
        ranker: Ranker,
        summarizer: Summarizer,
        dataset: Dataset | None = None,
        store: Store | None = None,
        res_length_limit: Annotated[int, Ge(1)] = 3,
        words: Annotated[int, Ge(1)] = 35,
        clusters: Annotated[int, Ge(1)] | None = None,
        few: Annotated[int, Ge(0)] = 4,
        least_nuggets: Annotated[int, Ge(1)] = 1,
        outliers: OutlierPolicy = "singletons",
        duplicates: Annotated[float, Interval(ge=0, le=1)] | None = 0.8,
        support: Annotated[float, Interval(ge=0, le=1)] = 0.5,
        check: Literal["words", "llm"] = "words",
        unsupported: Unsupported = "reduce",
        fluency: bool = False,
        refuse: Threshold = REFUSE,
        prompt: Path | None = None,
        temperature: Temperature | None = 0.0,
    ) -> None:
        if least_nuggets > 1 and outliers == "singletons":
            raise ConfigError(
                f"generator.least_nuggets={least_nuggets}: generator.outliers=singletons makes "
                "clusters of one nugget; choose generator.outliers=own, nearest or drop"
            )
        self.limit = LengthLimit.of(res_length_limit, words)
        self.detector = detector
        self.nugget_clusterer = NuggetClusterer(
            clusterer, embedder, ranker, few=few, least=least_nuggets, outliers=outliers
        )
        self.duplicates = duplicates
        self.fluency = fluency
        writing_llm = getattr(summarizer, "llm", llm)
        self.decider = Decider(writing_llm, dataset, store, refuse)
        sampling = {"temperature": temperature}
        support_prompt = PromptTemplate("support", package="convrag_ginger")
        fluency_prompt = PromptTemplate("fluency", package="convrag_ginger", path=prompt)
        self.writer = SentenceWriter(
            summarizer,
            Attributor(support, llm if check == "llm" else None, support_prompt, sampling),
            self.limit,
            words=words,
            clusters=clusters,
            unsupported=unsupported,
            llm=llm,
            template=fluency_prompt,
            sampling=sampling,
        )
        self.prompt_templates = (fluency_prompt, *((support_prompt,) if check == "llm" else ()))

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """Use the llm only to rephrase or check, and the embedder only to cluster."""
        if name == "llm":
            return bool(parameters["fluency"] or parameters["check"] == "llm")
        if name == "embedder":
            nearest = parameters["outliers"] == "nearest" or parameters["least_nuggets"] > 1
            return bool(nearest or parameters["clusterer"].uses_embedder)
        return True

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Count the turns with an answer, and the sentences without support."""
        return report_outcomes(records)

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """Run all steps. Raises LLMError where the detector or the summarizer does."""
        decision = self.decider.decide(question, evidence)
        if decision.reply:
            return decision.make_answer()
        query = question.standalone or question.text
        nuggets, untagged = self._detect(query, evidence)
        merged = self._merge(nuggets)
        clusters = self.nugget_clusterer.cluster(query, merged)
        shares = self._measure_shares(query, nuggets, evidence)
        order = _order_clusters(clusters, shares)
        written = self.writer.write(query, nuggets, clusters, order, shares)
        found: dict[str, Any] = {
            "query": query,
            "nuggets": [asdict(nugget) for nugget in nuggets],
            "reduced": written.reduced,
            "left_out": written.left_out,
        }
        if untagged:
            found |= {"untagged": untagged, "fallback": describe_untagged(untagged)}
        if not written.sentences:
            return self.decider.note(decision, "unanswerable").refuse().make_answer(found)
        sentences, fluency = self._rephrase(query, written.sentences)
        trace = {
            **found,
            "decision": self.decider.note(decision, "answered").trace(),
            "outcome": "answered" if len(merged) > 1 else "single",
            "merged": len(nuggets) - len(merged),
            "clusters": [cluster.trace() for cluster in clusters],
            "order": order,
            "sentences": [sentence.trace() for sentence in sentences],
            "fluency": fluency,
        }
        return _make_answer(sentences, evidence, trace)

    def _measure_shares(
        self, query: str, nuggets: Sequence[Nugget], evidence: Evidence
    ) -> dict[Nugget, float]:
        """Measure the share of the query that each nugget covers with its headings.

        Nothing is measured where a language model writes, or with refuse=0: the ranker then decides
        alone, as published.
        """
        if self.decider.has_model or not self.decider.refuse:
            return {}
        weights = self.decider.weigh(query)
        passages = {item.passage.id: item.passage for item in evidence.items}
        sentences = {}
        for passage in passages.values():
            sentences[passage.id] = rate_sentences(Source(passage.text, passage.title), weights)
        shares = {}
        for nugget in nuggets:
            overlapping = (
                sentence.rate[0]
                for sentence in sentences[nugget.passage_id]
                if sentence.start < nugget.end and nugget.start < sentence.end
            )
            shares[nugget] = max(overlapping, default=0.0)
        return shares

    def _rephrase(
        self, query: str, sentences: Sequence[CitedSentence]
    ) -> tuple[Sequence[CitedSentence], str]:
        """Rephrase sentences where that is chosen; also return the trace's note on it."""
        if not self.fluency:
            return sentences, "off"
        rephrased, reason = self.writer.rephrase(query, sentences)
        return rephrased, f"kept: {reason}" if reason else "on"

    def _detect(self, query: str, evidence: Evidence) -> tuple[list[Nugget], int]:
        """Detect the nuggets of all passages, in order; also count the replies without tags.

        A hint stands for its passage. The nuggets of a passage whose reply has no tags are
        sentences.
        """
        passages = {item.passage.id: item.passage for item in reversed(evidence.items)}
        ordered = dict.fromkeys(item.passage.id for item in evidence.items)

        def detect(name: str) -> tuple[list[Nugget], bool]:
            try:
                return self.detector.detect(query, passages[name]), False
            except Untagged:
                return SentencesDetector().detect(query, passages[name]), True

        found = list(map_parallel(detect, ordered))
        nuggets = [nugget for detected, _ in found for nugget in detected]
        return nuggets, sum(untagged for _, untagged in found)

    def _merge(self, nuggets: Sequence[Nugget]) -> list[MergedNugget]:
        if self.duplicates is None:
            return [MergedNugget(nugget, (index,)) for index, nugget in enumerate(nuggets)]
        return merge_duplicates(nuggets, self.duplicates)


def _order_clusters(clusters: Sequence[Cluster], shares: Mapping[Nugget, float]) -> list[int]:
    """Order clusters by the share of their best nugget, then by the ranker's score, best first."""

    def rate(index: int) -> tuple[float, float]:
        cluster = clusters[index]
        best = max(shares.get(merged.nugget, 0.0) for merged in cluster.nuggets)
        return best, cluster.score

    return sorted(range(len(clusters)), key=rate, reverse=True)


def _make_answer(
    sentences: Sequence[CitedSentence], evidence: Evidence, trace: Mapping[str, Any]
) -> Answer:
    """Join sentences with their citations, and locate what supports them."""
    numbers = number_passages(evidence)
    cited = [add_citations(each.text, each.passages, numbers) for each in sentences]
    citations: dict[str, None] = {}
    for sentence in sentences:
        citations |= dict.fromkeys(sorted(sentence.passages, key=numbers.__getitem__))
    text = join_sentences(cited)
    return Answer(text, tuple(citations), trace, locate_support(text, sentences))
