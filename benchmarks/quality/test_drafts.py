"""generator=drafts without a language model: its answers at equal length, and its decisions on other conversations.

Answers: the share of the reference answer's content words, each pair of answers cut to the shorter, on MTRAG's
reference contexts with llm=extractive: 396 answerable turns of clapnq and cloud. Decisions: all labelled turns of both,
with the passages that BM25 finds in the pools, given history, and the calibration of each half of the conversations
tested on the other. Of 426 labelled turns 30 are unanswerable.
"""

# ruff: noqa: T201 - the figures are what benchmarks are for

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from convrag import Evidence, EvidenceItem, Query, Question, TurnRecord
from convrag.store.store import Store
from convrag_basics.stages import DirectGenerator
from convrag_clusterers.topics import LsaClusterer
from convrag_datasets.mtrag import MtragDataset
from convrag_drafts.calibration import decide_other_half, measure, read_turns
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


def test_decisions_on_other_conversations(dataset: MtragDataset, store: Store) -> None:
    generator = DraftsGenerator(llm=ExtractiveLLM(dataset=dataset, store=store))
    retriever = BM25Retriever(dataset=dataset, store=store)
    retriever.prepare()
    records = []
    for conversation in dataset.conversations():
        for place, turn in enumerate(conversation.turns):
            hits = retriever.retrieve([Query(turn.question, domain=conversation.domain)], SHOWN)
            items = (
                EvidenceItem(n, hit.passage, hit.passage.content, score=hit.score) for n, hit in enumerate(hits, 1)
            )
            asked = Question(turn.question, domain=conversation.domain, history=conversation.turns[:place])
            answer = generator.generate(asked, Evidence(tuple(items)))
            record = TurnRecord(conversation.id, turn.id, conversation.domain, place + 1, turn.question)
            records.append(replace(record, trace={"generator": dict(answer.trace)}, labels=turn.labels))
    turns = read_turns(records)
    tested = decide_other_half(turns)
    assert tested is not None
    figures = {
        "always answered": measure(turns, [True] * len(turns)),
        "by the verdict": measure(turns, [turn.decided for turn in turns]),
        "calibrated on the other half": measure(*tested),
    }
    for name, quality in figures.items():
        print(
            f"{name:29} answerable {quality.answerable:.3f}  unanswerable {quality.unanswerable:.3f}  mean "
            f"{quality.balanced:.3f}  all {quality.accuracy:.3f}  ({quality.turns} turns)"
        )
    assert figures["calibrated on the other half"].balanced > 0.5
