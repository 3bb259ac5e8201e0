"""Which documents the conversations are about: a sample over all documents, each with its passages in order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

from convrag import Passage
from convrag.sdk.corpus import Corpus
from convrag.sdk.progress import track

MIN_WORDS = 20
"""A passage with fewer words says too little to be asked about."""

AHEAD = 12
"""Passages of a document that a conversation may go on with."""

_ROUNDS = 20  # conversations about one document, at most


@dataclass(frozen=True)
class Plan:
    """A conversation to write: its id, and the passages that it may be about, in the order of their document."""

    id: str
    domain: str
    document: str
    passages: tuple[Passage, ...]


class Outline:
    """The documents of a corpus, and where their passages stand in it.

    Passages of one document have the same `metadata["document"]`, or else the same url or title; a passage with none of
    them is a document of its own. Passages without enough prose are left out.

    Args:
        corpus: the passages on disk.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.documents: dict[str, list[int]] = {}
        for position, passage in enumerate(track(corpus, f"Reading documents of {corpus.domain}", len(corpus))):
            if is_prose(passage.text):
                self.documents.setdefault(name_document(passage), []).append(position)

    def read_passages(self, document: str, start: int) -> tuple[Passage, ...]:
        """Read the passages of a document from one of them on, up to `AHEAD`; after the last comes the first."""
        positions = self.documents[document]
        order = [positions[(start + offset) % len(positions)] for offset in range(min(AHEAD, len(positions)))]
        return tuple(self.corpus.get_by_position(order))

    def read_from(self, passage: Passage) -> tuple[Passage, ...]:
        """Read a passage and those that follow it in its document."""
        document = name_document(passage)
        for start in range(0, len(self.documents.get(document, ())), AHEAD):
            for offset, each in enumerate(self.read_passages(document, start)):
                if each.id == passage.id:
                    return self.read_passages(document, start + offset)
        return (passage,)


def plan_conversations(outlines: Mapping[str, Outline], seed: int) -> Iterator[Plan]:
    """Yield conversations to write: each document of each domain once before any comes again, in random order.

    Args:
        outlines: domain -> its documents.
        seed: of the order, and of the passages that conversations begin with.
    """
    orders = {
        domain: sorted(outline.documents, key=partial(draw, str(seed), domain)) for domain, outline in outlines.items()
    }
    used: set[tuple[str, str, int]] = set()
    number = 0
    for turn in range(_ROUNDS):
        for domain, document in _alternate(orders):
            size = len(outlines[domain].documents[document])
            start = draw(str(seed), domain, document, str(turn)) % size
            if turn >= size or (domain, document, start) in used:
                continue
            used.add((domain, document, start))
            number += 1
            yield Plan(f"q{number:04}", domain, document, outlines[domain].read_passages(document, start))


def name_document(passage: Passage) -> str:
    """The document that a passage is from; its own id where nothing says so."""
    named = passage.metadata.get("document")
    return named if isinstance(named, str) and named else passage.url or passage.title or passage.id


def is_prose(text: str) -> bool:
    """Whether a text has enough words, and mostly letters: no table of numbers, no list of links."""
    letters = sum(map(str.isalpha, text))
    visible = len(text) - sum(map(str.isspace, text))
    enough = len(text.split()) >= MIN_WORDS or (letters >= 5 * MIN_WORDS and " " not in text.strip())
    return enough and letters >= 0.6 * visible


def _alternate(orders: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield the first document of each domain, then the second of each, and so on."""
    for index in range(max(map(len, orders.values()), default=0)):
        yield from ((domain, order[index]) for domain, order in orders.items() if index < len(order))


def draw(*names: str) -> int:
    """A number that looks random, and is the same each time for the same names."""
    text = "\0".join(names)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
