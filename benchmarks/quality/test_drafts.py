"""generator=drafts without a language model: its answers at equal length, and its decisions.

Answers: the share of the reference answer's content words, each pair of answers cut to the shorter, on MTRAG's
reference contexts with llm=extractive: 396 answerable turns of clapnq and cloud. Decisions: all labelled turns of both,
with the passages that BM25 finds in the pools and given history. Of 426 labelled turns 30 are unanswerable.
"""

# ruff: noqa: T201 - the figures are what benchmarks are for

from collections import Counter
from pathlib import Path

import pytest

from convrag import Evidence, EvidenceItem, Query, Question
from convrag.store.store import Store
from convrag_basics.stages import DirectGenerator
from convrag_clusterers.topics import LsaClusterer
from convrag_datasets.mtrag import MtragDataset
from convrag_drafts.generator import DraftsGenerator
from convrag_ginger.generator import GingerGenerator
from convrag_ginger.sentences_detector import SentencesDetector
from convrag_ginger.summarizer import LlmSummarizer
from convrag_offline.extractive import ExtractiveLLM
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.rankers import BM25Ranker
from equal_length import compare_answers
from mtrag_contexts import read_turns as read_context_turns

SHOWN = 5  # passages
ANSWERED = {"ANSWERABLE": True, "PARTIAL": True, "UNANSWERABLE": False}


@pytest.fixture(scope="module")
def dataset(mtrag_path: Path) -> MtragDataset:
    return MtragDataset(path=mtrag_path, domain="clapnq+cloud")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


def test_answers_at_equal_length(mtrag_path: Path, dataset: MtragDataset, store: Store) -> None:
    turns = read_context_turns(mtrag_path)
    llm = ExtractiveLLM(dataset=dataset, store=store)
    generators = {
        "drafts": DraftsGenerator(llm=llm),
        "direct": DirectGenerator(llm=llm),
        "ginger": GingerGenerator(
            llm=llm,
            detector=SentencesDetector(),
            clusterer=LsaClusterer(),
            embedder=None,  # type: ignore[arg-type] - neither this clusterer nor outliers=singletons uses it
            ranker=BM25Ranker(),
            summarizer=LlmSummarizer(llm=llm),
        ),
    }
    shown = [Evidence(tuple(EvidenceItem(n, p, p.content) for n, p in enumerate(t.passages, 1))) for t in turns]
    answers = {
        name: [generator.generate(turn.question, seen) for turn, seen in zip(turns, shown, strict=True)]
        for name, generator in generators.items()
    }
    print(dict(Counter(answer.trace["answerability"]["decision"] for answer in answers["drafts"])))
    chosen = (each["from"] for answer in answers["drafts"] for each in answer.trace.get("drafts", ()) if each["chosen"])
    print(dict(Counter(chosen)))
    answered = [n for n, answer in enumerate(answers["drafts"]) if answer.trace["outcome"] != "unanswerable"]
    for part, places in (("all turns", range(len(turns))), ("turns that drafts answers", answered)):
        picked = [turns[n] for n in places]
        ours = [answers["drafts"][n].text for n in places]
        for other in ("direct", "ginger"):
            theirs = [answers[other][n].text for n in places]
            one, two, p = compare_answers(picked, ours, theirs)
            print(f"{part:26} {len(picked)} turns  drafts {one:.3f}  {other} {two:.3f}  p {p:.4f}")


def test_decisions_by_the_verdict(dataset: MtragDataset, store: Store) -> None:
    generator = DraftsGenerator(llm=ExtractiveLLM(dataset=dataset, store=store))
    retriever = BM25Retriever(dataset=dataset, store=store)
    retriever.prepare()
    right: dict[bool, list[bool]] = {True: [], False: []}
    for conversation in dataset.conversations():
        for place, turn in enumerate(conversation.turns):
            if turn.labels.get("answerability") not in ANSWERED:
                continue
            hits = retriever.retrieve([Query(turn.question, domain=conversation.domain)], SHOWN)
            items = (
                EvidenceItem(n, hit.passage, hit.passage.content, score=hit.score) for n, hit in enumerate(hits, 1)
            )
            asked = Question(turn.question, domain=conversation.domain, history=conversation.turns[:place])
            decision = generator.generate(asked, Evidence(tuple(items))).trace["answerability"]["decision"]
            if decision not in ("conversational", "unknown"):
                answerable = ANSWERED[turn.labels["answerability"]]
                right[answerable].append(answerable == (decision != "unanswerable"))
    shares = {answerable: sum(each) / len(each) for answerable, each in right.items()}
    print(f"answerable {shares[True]:.3f}  unanswerable {shares[False]:.3f}  mean {sum(shares.values()) / 2:.3f}")
    assert sum(shares.values()) / 2 > 0.5
