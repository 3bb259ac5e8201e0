"""What each selector gives the model to read, on MTRAG's pools: the tables of docs/benchmarks.md.

    pytest benchmarks/quality/test_selection_quality.py -n 0 -s

BM25 with embeddings of LSA takes minutes. CONVRAG_BENCHMARK_STORE=FOLDER adds search and embeddings
with MiniLM, whose vectors are kept in that folder: the first time it takes most of an hour on two
cores.

MTRAG has no nuggets. Those here are sentences of its reference answers: a relevant passage has one
if it has half of its content words and all its numbers, as metrics=grounding counts support. A
sentence that no relevant passage has is left out.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from convrag.api.conversations import Question
from convrag.api.passages import Hit, Selection
from convrag.api.records import TurnRecord
from convrag.api.stage import LLM
from convrag.api.stages import Selector
from convrag.config.compose import compose
from convrag.sdk.search.corpus import Corpus
from convrag.sdk.text.sentences import split_sentences
from convrag.store.store import Store
from convrag.turn.wiring import Wiring
from convrag_basics.contexts import FullContext, TopSelector
from convrag_metrics.evidence import EvidenceMetrics
from convrag_metrics.grounding import has_lexical_support
from convrag_selectors.selectors import BudgetSelector, DynamicSelector, MMRSelector
from mtrag_retrieval import DOMAINS, ask_scored_turns, choose_minilm, compute_p, list_overrides

STORE = os.environ.get("CONVRAG_BENCHMARK_STORE", "")
TOP_K, TOP_N, TOKENS = 20, 5, 1500
SHOWN = {
    "evidence_precision": "P",
    "evidence_recall": "R",
    "evidence_nDCG": "nDCG",
    "evidence_alpha_nDCG": "a-nDCG",
    "evidence_subtopic_recall": "documents",
    "nuggets": "nuggets",
    "evidence_passages": "passages",
    "evidence_tokens": "tokens",
}
FIRST_THAT_FIT = f"the first within {TOKENS} tokens"
BASELINES = ("top", "top, n=4", FIRST_THAT_FIT)
TESTED = ("evidence_precision", "evidence_recall", "evidence_alpha_nDCG", "nuggets")

Values = Mapping[str, Mapping[str, float]]


class FirstThatFit(Selector):
    """The first passages, up to the first that does not fit: what a budget would do without a
    search.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        room, kept = TOKENS, []
        for hit in hits:
            room -= self.llm.count_tokens(hit.passage.content)
            if kept and room < 0:
                break
            kept.append(hit)
        return Selection(tuple(kept))


class First(TopSelector):
    """The first passages, so many."""

    def __init__(self, count: int) -> None:
        self.count = count

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        return super().select(question, hits, self.count)


class Domain:
    """The scored turns of a domain with the passages that are found for each, and how evidence is
    measured.
    """

    def __init__(self, mtrag: Path, domain: str, retriever: str, store: Path, folder: Path) -> None:
        wiring = Wiring(
            compose(
                *list_overrides(mtrag, domain, store),
                *(choose_minilm() if STORE else ["embedder=lsa"]),
                f"retriever={retriever}",
                "generator=none",
            )
        )
        dataset, rewriter, searcher = (
            wiring.get(name) for name in ("dataset", "rewriter", "retriever")
        )
        self.llm, self.embedder = wiring.get("llm"), wiring.get("embedder")
        self.qrels = dataset.qrels()
        self.asked: dict[str, tuple[Question, tuple[Hit, ...]]] = {}
        self.answers: dict[str, str] = {}
        for question, turn in ask_scored_turns(dataset, domain):
            queries = [
                replace(each, turn_id=turn.id, domain=domain)
                for each in rewriter.rewrite(question).queries
            ]
            asked = replace(question, standalone=queries[0].text, queries=tuple(queries))
            self.asked[turn.id] = asked, tuple(searcher.retrieve(queries, TOP_K))
            self.answers[turn.id] = turn.answer
        metrics_store = Store(folder)
        self.metric = EvidenceMetrics(dataset=dataset, store=metrics_store, llm=self.llm)
        nuggets = self._write_nuggets(
            Corpus(dataset, domain, metrics_store), folder / f"{domain}.nuggets"
        )
        self.nuggets = EvidenceMetrics(dataset=dataset, store=metrics_store, subtopics=nuggets)

    def measure(self, selector: Selector, *, copies: bool = False) -> Values:
        """Turn id -> measure -> value; with copies, each of the first passages was found twice."""
        records = []
        for turn_id, (question, hits) in self.asked.items():
            found = (
                [each for hit in hits[: TOP_K // 2] for each in (hit, copy_hit(hit))]
                if copies
                else hits
            )
            chosen = selector.select(question, found, TOP_N).hits
            evidence = FullContext().assemble(question, chosen, ())
            records.append(
                TurnRecord(
                    question.conversation_id, turn_id, question.domain, 1, "", evidence=evidence
                )
            )
        covered = self.nuggets.measure(records)
        name = "evidence_subtopic_recall"
        return {
            id_: {**own, **({"nuggets": covered[id_][name]} if name in covered[id_] else {})}
            for id_, own in self.metric.measure(records).items()
        }

    def test(self, ours: Values, theirs: Values, measure: str) -> float:
        """The p-value of a paired randomisation test over conversations."""
        tested = [turn_id for turn_id in self.asked if measure in ours[turn_id]]
        conversations = [self.asked[turn_id][0].conversation_id for turn_id in tested]
        return compute_p(
            conversations, *([of[turn_id][measure] for turn_id in tested] for of in (ours, theirs))
        )

    def _write_nuggets(self, corpus: Corpus, path: Path) -> Path:
        """Write which relevant passage has which sentence of the reference answer."""
        lines = []
        for turn_id, grades in self.qrels.items():
            passages = corpus.get_by_id([id_ for id_, grade in grades.items() if grade > 0])
            for number, sentence in enumerate(split_sentences(self.answers.get(turn_id, "")), 1):
                having = [
                    each.id
                    for each in passages
                    if has_lexical_support((sentence, [each.content]), 0.5)
                ]
                lines += [f"{turn_id}\t{number}\t{id_}\t1\n" for id_ in having]
        path.write_text("".join(lines), encoding="utf-8")
        return path


def copy_hit(hit: Hit) -> Hit:
    """The same text with the same score, as another passage."""
    return replace(hit, passage=replace(hit.passage, id=f"{hit.passage.id}-copy"))


def list_selectors(domain: Domain) -> dict[str, Selector]:
    """What is compared, by title; each is tested against the last baseline before it."""
    embedder, llm = domain.embedder, domain.llm
    return {
        "top": TopSelector(),
        "mmr": MMRSelector(embedder=embedder),
        "mmr, lambda_=.5": MMRSelector(embedder=embedder, lambda_=0.5),
        "mmr, lambda_=.9": MMRSelector(embedder=embedder, lambda_=0.9),
        "mmr, relevance=embedder": MMRSelector(embedder=embedder, relevance="embedder"),
        "top, n=4": First(4),
        "dynamic": DynamicSelector(),
        FIRST_THAT_FIT: FirstThatFit(llm),
        f"budget, tokens={TOKENS}": BudgetSelector(llm=llm, tokens=TOKENS),
    }


def print_table(domain: Domain, found: Mapping[str, Values]) -> None:
    """A row for each selector; p of the differences to the last baseline."""
    print(
        f"{'':28s}",
        *(f"{title:>9s}" for title in SHOWN.values()),
        "  p of",
        *(SHOWN[name] for name in TESTED),
    )
    base: Values = {}
    for title, values in found.items():
        cells = (
            np.mean([each[measure] for each in values.values() if measure in each])
            for measure in SHOWN
        )
        tests = (
            ()
            if title in BASELINES
            else (f"{domain.test(values, base, name):.3f}" for name in TESTED)
        )
        base = values if title in BASELINES else base
        print(f"{title:28s}", *(f"{cell:9.3f}" for cell in cells), "  ", *tests, flush=True)


@pytest.mark.parametrize("retriever", ["bm25", "dense"])
def test_selectors(retriever: str, mtrag_path: Path, tmp_path: Path) -> None:
    if retriever == "dense" and not STORE:
        pytest.skip("CONVRAG_BENCHMARK_STORE=FOLDER, for MiniLM's vectors")
    store = Path(STORE or tmp_path / "store")
    for name in DOMAINS:
        domain = Domain(mtrag_path, name, retriever, store, tmp_path / name)
        selectors = list_selectors(domain)
        found = {title: domain.measure(selector) for title, selector in selectors.items()}
        print(f"\n{retriever}, {name}, {len(domain.asked)} turns")
        print_table(domain, found)
        print("each of the first ten passages found twice")
        few = ("top", "mmr", "mmr, lambda_=.5")
        print_table(domain, {title: domain.measure(selectors[title], copies=True) for title in few})
        longest = max(
            domain.llm.count_tokens(hits[0].passage.content) for _, hits in domain.asked.values()
        )
        for title, values in found.items():
            largest = max(each["evidence_tokens"] for each in values.values())
            assert largest <= max(TOKENS, longest) or not title.startswith("budget"), (
                "one passage is shown in any case"
            )
