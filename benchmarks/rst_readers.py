"""Time and memory of reading reStructuredText: convrag's reader, or docutils.

pip install docutils
python benchmarks/rst_readers.py convrag sections
python benchmarks/rst_readers.py docutils /usr/share/cmake-3.25/Help/command/file.rst
"""

import argparse
import resource
import sys
import time
from pathlib import Path

SIZE = 1_000_000
"""Characters of the text that is read."""

_SECTION = "Title {number}\n=========\n\nIt is a short text.\n\n"
_TABLE_ROW = "+---" * 2_000 + "+\n" + "|a  " * 2_000 + "|\n"


def make_text(name: str) -> str:
    """Make the text with a name, or of copies of a file, up to the size."""
    if name == "sections":
        text = "".join(_SECTION.format(number=number) for number in range(SIZE // 30))
    elif name == "table":
        text = _TABLE_ROW * (SIZE // len(_TABLE_ROW))
    else:
        part = Path(name).read_text(encoding="utf-8")
        text = part * (SIZE // len(part) + 1)
    return text[:SIZE]


def read_with_convrag(text: str) -> int:
    """Read a text with convrag, and return the characters that it shows."""
    from convrag_documents.readers.restructuredtext import read_rst

    return len(next(read_rst(text.encode())).text)


def read_with_docutils(text: str) -> int:
    """Read a text with docutils, in its safe settings."""
    from docutils.core import publish_doctree

    settings = {
        "report_level": 5,
        "halt_level": 5,
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "_disable_config": True,
    }
    return len(publish_doctree(text, settings_overrides=settings).astext())


def main() -> None:
    """Read one text with one reader, and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=["convrag", "docutils"])
    parser.add_argument("text", help='"sections", "table", or a file')
    given = parser.parse_args()
    read = read_with_convrag if given.reader == "convrag" else read_with_docutils
    text = make_text(given.text)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    length = read(text)
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    sys.stdout.write(
        f"{given.reader}: {length:,} characters in {seconds:.1f} s, {grown:.0f} MB more memory\n"
    )


if __name__ == "__main__":
    main()
