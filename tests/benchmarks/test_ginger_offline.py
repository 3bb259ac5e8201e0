"""GINGER without a language model, on MTRAG's reference contexts: where nuggets are, and answers at equal length.

Gold spans: the sentences of a turn's contexts that are added greedily to raise the sum of ROUGE-1 and ROUGE-2 F1 with
the reference answer (the oracle of Nallapati et al. 2017). Answers: the share of the reference answer's content words,
each pair of answers cut to the shorter. Conversations with an even hash served for development, the others for testing.
"""

# ruff: noqa: T201 - the figures are what benchmarks are for

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag.api.stages import Detector, Generator
from convrag.api.types import Evidence, EvidenceItem, Nugget, Passage, Question, Turn
from convrag.sdk.sentences import find_sentence_spans
from convrag.sdk.stemming import stem_words
from convrag.store.store import Store
from convrag_basics.direct_generator import DirectGenerator
from convrag_clusterers.lsa import LsaClusterer
from convrag_compare.significance import compute_sign_flip_p
from convrag_datasets.mtrag import MtragDataset
from convrag_ginger.baselines import BaselineGenerator
from convrag_ginger.generator import GingerGenerator
from convrag_ginger.llm_detector import LlmDetector
from convrag_ginger.sentences_detector import SentencesDetector
from convrag_ginger.summarizer import LlmSummarizer
from convrag_ginger.tokens import split_words, stem_content_words
from convrag_judging.answers import split_words as split_answer
from convrag_judging.answers import truncate_answer
from convrag_offline.extractive import ExtractiveLLM
from convrag_retrieval.bm25_ranker import BM25Ranker

Span = tuple[str, int, int]


@dataclass
class Task:
    """An answerable turn: MTRAG's rewrite of its question, its history, its contexts and its reference answer."""

    conversation: str
    domain: str
    question: Question
    passages: list[Passage]
    reference: str
    gold: set[tuple[str, int]] = field(default_factory=set)

    @property
    def half(self) -> int:
        return int(hashlib.md5(self.conversation.encode()).hexdigest(), 16) % 2


class EverySentence(Detector):
    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        return [Nugget(passage.text[a:b], passage.id, a, b) for a, b in find_sentence_spans(passage.text)]


@pytest.fixture(scope="module")
def tasks(mtrag_path: Path) -> list[Task]:
    return [task for domain in ("clapnq", "cloud") for task in read_tasks(mtrag_path / "mtrag-human", domain)]


@pytest.fixture(scope="module")
def llm(mtrag_path: Path, tmp_path_factory: pytest.TempPathFactory) -> ExtractiveLLM:
    dataset = MtragDataset(path=mtrag_path, domain="clapnq+cloud")
    return ExtractiveLLM(dataset=dataset, store=Store(tmp_path_factory.mktemp("store")))


def read_tasks(folder: Path, domain: str) -> Iterator[Task]:
    lines = (folder / f"retrieval_tasks/{domain}/{domain}_rewrite.jsonl").read_text(encoding="utf-8").splitlines()
    queries = {row["_id"]: row["text"].replace("|user|: ", "").strip() for row in map(json.loads, lines)}
    for row in map(json.loads, (folder / "generation_tasks/reference.jsonl").read_text(encoding="utf-8").splitlines()):
        answerable = row["Answerability"][0] in ("ANSWERABLE", "PARTIAL")
        if row["Collection"] != domain or not answerable or not row["contexts"] or row["task_id"] not in queries:
            continue
        texts = [message["text"] for message in row["input"]]
        history = tuple(Turn("", a, b) for a, b in zip(texts[:-1:2], texts[1:-1:2], strict=True))
        passages = [Passage(c["document_id"], c["text"], c.get("title") or "") for c in row["contexts"]]
        question = Question(texts[-1], history=history, standalone=queries[row["task_id"]])
        task = Task(row["conversation_id"], domain, question, passages, row["targets"][0]["text"])
        task.gold = find_words(passages, find_oracle(passages, task.reference))
        yield task


def find_oracle(passages: Sequence[Passage], reference: str) -> list[Span]:
    sentences = [(p.id, a, b, stems(p.text[a:b])) for p in passages for a, b in find_sentence_spans(p.text)]
    wanted = [grams(stems(reference), n) for n in (1, 2)]
    chosen: list[int] = []
    counts: list[Counter[Any]] = [Counter(), Counter()]
    best = 0.0
    while len(chosen) < len(sentences):
        scores = [
            (sum(f1(counts[n] + grams(words, n + 1), wanted[n]) for n in (0, 1)), -index)
            for index, (_, _, _, words) in enumerate(sentences)
            if index not in chosen
        ]
        score, index = max(scores)
        if score <= best:
            break
        best = score
        chosen.append(-index)
        counts = [counts[n] + grams(sentences[-index][3], n + 1) for n in (0, 1)]
    return [sentences[index][:3] for index in chosen]


def stems(text: str) -> list[str]:
    return stem_words(split_words(text))


def grams(words: Sequence[str], n: int) -> Counter[Any]:
    return Counter(zip(*[words[start:] for start in range(n)], strict=False))


def f1(found: Counter[Any], wanted: Counter[Any]) -> float:
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total()) if common else 0.0


def find_words(passages: Sequence[Passage], spans: Sequence[Span]) -> set[tuple[str, int]]:
    """The words of passages, as (id, position), that spans cover."""
    places = {passage.id: [match.span() for match in re.finditer(r"\S+", passage.text)] for passage in passages}
    return {(id_, n) for id_, a, b in spans for n, (start, end) in enumerate(places[id_]) if start < b and end > a}


def measure_spans(tasks: Sequence[Task], detector: Detector) -> tuple[float, float, float]:
    """Mean F1, precision and recall of words over turns."""
    rows = []
    for task in tasks:
        nuggets = [n for passage in task.passages for n in detector.detect(task.question.standalone, passage)]
        found = find_words(task.passages, [(n.passage_id, n.start, n.end) for n in nuggets])
        common = len(found & task.gold)
        rows.append((2 * common / (len(found) + len(task.gold)), common / max(1, len(found)), common / len(task.gold)))
    f1_, precision, recall = np.array(rows).mean(axis=0)
    return float(f1_), float(precision), float(recall)


def answer(tasks: Sequence[Task], generator: Generator) -> list[str]:
    items = [tuple(EvidenceItem(n, p, p.content) for n, p in enumerate(task.passages, 1)) for task in tasks]
    return [generator.generate(task.question, Evidence(shown)).text for task, shown in zip(tasks, items, strict=True)]


def compare(tasks: Sequence[Task], ours: list[str], others: list[str]) -> tuple[float, float, float]:
    """The mean recall of content words of both, each pair cut to the shorter, and p (sign flips of conversations)."""
    values = []
    for task, *pair in zip(tasks, ours, others, strict=True):
        words = min(len(split_answer(text)) for text in pair)
        wanted = stem_content_words(task.reference)
        found = [set(stem_content_words(truncate_answer(text, words))) for text in pair]
        values.append([sum(word in has for word in wanted) / len(wanted) for has in found])
    rows = np.array(values)
    totals: dict[str, float] = {}
    for task, (one, other) in zip(tasks, values, strict=True):
        totals[task.conversation] = totals.get(task.conversation, 0.0) + one - other
    p = compute_sign_flip_p(np.array(list(totals.values()))[:, None])[0]
    return float(rows[:, 0].mean()), float(rows[:, 1].mean()), p


def select(tasks: Sequence[Task], domain: str, half: int) -> list[int]:
    return [n for n, task in enumerate(tasks) if task.half == half and domain in ("both", task.domain)]


SELECTIONS = [(domain, half) for half in (0, 1) for domain in ("clapnq", "cloud", "both")]
HALVES = {0: "development", 1: "test"}


def test_spans(tasks: list[Task], llm: ExtractiveLLM) -> None:
    detectors: dict[str, Detector] = {
        "every sentence": EverySentence(),
        "sentences": SentencesDetector(),
        "llm (extractive)": LlmDetector(llm=llm),
    }
    found: dict[tuple[str, int, str], float] = {}
    for domain, half in SELECTIONS:
        chosen = [tasks[n] for n in select(tasks, domain, half)]
        for name, detector in detectors.items():
            score, precision, recall = measure_spans(chosen, detector)
            found[domain, half, name] = score
            ratio = score / found[domain, half, "every sentence"]
            print(
                f"{HALVES[half]:11} {domain:6} {len(chosen):3} turns  {name:16} "
                f"F1 {score:.3f} P {precision:.3f} R {recall:.3f}  {ratio:.2f} of every sentence"
            )
    assert found["both", 1, "sentences"] > found["both", 1, "every sentence"]


def test_answers_at_equal_length(tasks: list[Task], llm: ExtractiveLLM) -> None:
    parts: dict[str, Any] = {"clusterer": LsaClusterer(), "ranker": BM25Ranker(), "summarizer": LlmSummarizer(llm=llm)}
    make: Callable[[Detector], Generator] = lambda detector: GingerGenerator(  # noqa: E731
        llm=llm,
        detector=detector,
        embedder=None,  # type: ignore[arg-type] - neither this clusterer nor outliers=singletons uses it
        **parts,
    )
    answers = {
        "ginger": answer(tasks, make(SentencesDetector())),
        "direct": answer(tasks, DirectGenerator(llm=llm)),
        "baseline": answer(tasks, BaselineGenerator(llm=llm)),
    }
    p_values = {}
    for domain, half in [*SELECTIONS, ("both", None)]:
        chosen = list(range(len(tasks))) if half is None else select(tasks, domain, half)
        for other in ("direct", "baseline"):
            picked = [tasks[n] for n in chosen]
            ours, theirs = ([answers[name][n] for n in chosen] for name in ("ginger", other))
            one, two, p = compare(picked, ours, theirs)
            p_values[domain, half, other] = p if one > two else 1.0
            name = "all" if half is None else HALVES[half]
            print(f"{name:11} {domain:6} {len(chosen):3} turns  ginger {one:.3f}  {other} {two:.3f}  p {p:.4f}")
    assert max(p_values["both", None, other] for other in ("direct", "baseline")) < 0.05
