"""Answerable turns of MTRAG with their reference contexts, and which parts of these answer them.

Gold: the sentences of a turn's contexts that are added greedily to raise the sum of ROUGE-1 and
ROUGE-2 F1 with the reference answer (the oracle of Nallapati et al. 2017). Contexts of a turn
overlap, and a sentence that stands in two of them would be right in one and wrong in the other; so
equal sentences are one: all of its copies are gold, and count once. Conversations with an even hash
are the half for development, the others for testing.
"""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from convrag.api.conversations import Question, Turn
from convrag.api.passages import Passage
from convrag.sdk.text.analysis import split_words, stem_words
from convrag.sdk.text.sentences import find_sentence_spans

DOMAINS = ("clapnq", "cloud")
HALVES = {0: "development", 1: "test"}

Word = tuple[str, int]
"""The text of a sentence and the position of one of its words: the same for all copies of the
sentence.
"""


class Span(NamedTuple):
    passage_id: str
    start: int
    end: int


@dataclass
class ContextTurn:
    """A turn: MTRAG's rewrite of its question, its history, its contexts and its reference answer."""

    conversation: str
    domain: str
    question: Question
    passages: list[Passage]
    reference: str

    @property
    def half(self) -> int:
        return int(hashlib.md5(self.conversation.encode()).hexdigest(), 16) % 2

    @cached_property
    def sentences(self) -> list[Span]:
        return [Span(p.id, *span) for p in self.passages for span in find_sentence_spans(p.text)]

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the sentences, on one line each."""
        passages = {passage.id: passage.text for passage in self.passages}
        return [" ".join(passages[id_][start:end].split()) for id_, start, end in self.sentences]

    @cached_property
    def gold(self) -> set[Word]:
        return self.find_words(
            [self.sentences[index] for index in find_oracle(self.texts, self.reference)]
        )

    def find_words(self, spans: Sequence[Span]) -> set[Word]:
        """The words that spans cover."""
        return {
            word
            for id_, start, end in spans
            for first, _, word in self._places[id_][bisect_right(self._ends[id_], start) :]
            if first < end
        }

    def measure(self, spans: Sequence[Span]) -> tuple[float, float, float]:
        """F1, precision and recall of the words that spans cover."""
        found = self.find_words(spans)
        common = len(found & self.gold)
        return (
            2 * common / (len(found) + len(self.gold)),
            common / max(1, len(found)),
            common / len(self.gold),
        )

    @cached_property
    def _places(self) -> dict[str, list[tuple[int, int, Word]]]:
        """Passage -> the start and end of each word, with the word, in order."""
        passages = {passage.id: passage.text for passage in self.passages}
        places: dict[str, list[tuple[int, int, Word]]] = {id_: [] for id_ in passages}
        for (id_, start, _), text in zip(self.sentences, self.texts, strict=True):
            position = start
            for number, word in enumerate(text.split()):
                position = passages[id_].index(word, position)
                places[id_].append((position, position + len(word), (text, number)))
                position += len(word)
        return places

    @cached_property
    def _ends(self) -> dict[str, list[int]]:
        return {id_: [end for _, end, _ in places] for id_, places in self._places.items()}


def read_turns(mtrag_path: Path) -> list[ContextTurn]:
    """The answerable turns of both domains that have contexts and qrels."""
    return [turn for domain in DOMAINS for turn in _read_domain(mtrag_path / "mtrag-human", domain)]


def _read_domain(folder: Path, domain: str) -> Iterator[ContextTurn]:
    lines = (
        (folder / f"retrieval_tasks/{domain}/{domain}_rewrite.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    queries = {
        row["_id"]: row["text"].replace("|user|: ", "").strip() for row in map(json.loads, lines)
    }
    for row in map(
        json.loads,
        (folder / "generation_tasks/reference.jsonl").read_text(encoding="utf-8").splitlines(),
    ):
        answerable = row["Answerability"][0] in ("ANSWERABLE", "PARTIAL")
        if (
            row["Collection"] != domain
            or not answerable
            or not row["contexts"]
            or row["task_id"] not in queries
        ):
            continue
        texts = [message["text"] for message in row["input"]]
        history = tuple(Turn("", a, b) for a, b in zip(texts[:-1:2], texts[1:-1:2], strict=True))
        passages = [
            Passage(c["document_id"], c["text"], c.get("title") or "") for c in row["contexts"]
        ]
        question = Question(texts[-1], history=history, standalone=queries[row["task_id"]])
        yield ContextTurn(
            row["conversation_id"], domain, question, passages, row["targets"][0]["text"]
        )


def find_oracle(texts: Sequence[str], reference: str) -> list[int]:
    """The texts that raise ROUGE-1 + ROUGE-2 F1 with the reference, added greedily."""
    pairs = [(_count_grams(words, 1), _count_grams(words, 2)) for words in map(_stem, texts)]
    wanted = [_count_grams(_stem(reference), n) for n in (1, 2)]
    chosen: list[int] = []
    counts: list[Counter[Any]] = [Counter(), Counter()]
    best = 0.0
    while len(chosen) < len(texts):
        score, negated = max(
            (
                sum(
                    _f1(count + gram, want)
                    for count, gram, want in zip(counts, grams, wanted, strict=True)
                ),
                -index,
            )
            for index, grams in enumerate(pairs)
            if index not in chosen
        )
        if score <= best:
            break
        best = score
        chosen.append(-negated)
        counts = [count + gram for count, gram in zip(counts, pairs[-negated], strict=True)]
    return chosen


def _stem(text: str) -> list[str]:
    return stem_words(split_words(text))


def _count_grams(words: Sequence[str], n: int) -> Counter[Any]:
    return Counter(zip(*[words[start:] for start in range(n)], strict=False))


def _f1(found: Counter[Any], wanted: Counter[Any]) -> float:
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total()) if common else 0.0


def select(turns: Sequence[ContextTurn], domain: str, half: int | None) -> list[int]:
    """The positions of the turns of a domain, or "both", and of a half, or both."""
    return [
        n
        for n, turn in enumerate(turns)
        if half in (None, turn.half) and domain in ("both", turn.domain)
    ]
