"""Seconds of chunkers for 50 MB of text, against a regular expression for words.

pytest benchmarks/speed/test_chunker_speed.py -n 0 -s
"""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from convrag import Document
from convrag.sdk.types import Heading
from convrag_chunkers.section_chunker import SectionChunker
from convrag_chunkers.sentences import PageChunker, SentenceChunker
from convrag_chunkers.tokens import TokenChunker
from convrag_datasets.jsonl import SampleDataset

CHARACTERS = 50_000_000
DOCS = Path(__file__).parents[2] / "docs"
_HEADING = re.compile(r"^(#{1,6}) (.*)$", re.MULTILINE)


def make_document() -> Document:
    """Join the pages of docs/ and the texts of the sample, again and again."""
    prose = "\n\n".join(passage.text for passage in SampleDataset().corpus("default"))
    once = "\n\n".join(
        [*(path.read_text("utf-8") for path in sorted(DOCS.glob("*.md"))), prose, ""]
    )
    text = once * (CHARACTERS // len(once) + 1)
    headings = tuple(
        Heading(found.start(), len(found[1]), found[2]) for found in _HEADING.finditer(text)
    )
    return Document("long.md", text, headings=headings, pages=tuple(range(0, len(text), 3_000)))


def measure(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and what the function returns."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def test_the_time_for_fifty_megabytes() -> None:
    document = make_document()
    plain, _ = measure(lambda: len(re.findall(r"\w+|[^\w\s]", document.text)))
    sys.stdout.write(
        f"\n{len(document.text) / 1e6:.0f} MB, {len(document.headings):,} headings; words by re: {plain:.2f} s\n"
    )
    chunkers = {
        "markdown": SectionChunker(),
        "sentences": SentenceChunker(),
        "tokens": TokenChunker(),
        "pages": PageChunker(),
    }
    for name, chunker in chunkers.items():
        seconds, passages = measure(lambda chunker=chunker: chunker.chunk(document))  # type: ignore[misc]
        sys.stdout.write(
            f"{name:<10} {seconds:6.2f} s  {seconds / plain:5.2f} times  {len(passages):,} passages\n"
        )
        assert seconds < 8 * plain, name
