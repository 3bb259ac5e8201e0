"""The headings of Markdown beside those of markdown-it-py, which implements CommonMark."""

from pathlib import Path

import pytest

from convrag_documents.readers.markdown import read_markdown
from places import ROOT

markdown_it = pytest.importorskip("markdown_it")


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/*.md")), ids=lambda path: path.name)
def test_the_pages_of_the_docs_have_the_same_headings(path: Path) -> None:
    (document,) = read_markdown(path.read_bytes())
    tokens = markdown_it.MarkdownIt("commonmark").parse(document.text)
    theirs = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    assert [heading.level for heading in document.headings] == theirs
