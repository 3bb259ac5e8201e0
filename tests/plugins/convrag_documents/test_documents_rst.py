"""reStructuredText: sections, inline markup, directives, tables, and files that are included."""

import os
import time
from pathlib import Path

import pytest

from convrag import Document, Store
from convrag.sdk.text.unreadable import Unreadable
from convrag_chunkers.section_chunker import SectionChunker
from convrag_documents import file_times
from convrag_documents.dataset import DocumentsDataset
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader


def read(text: str, name: str = "a.rst") -> Document:
    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    assert reader.format == "reStructuredText"
    (document,) = reader.read(text.encode())
    return document


def blocks(text: str) -> list[str]:
    return read(text).text.split("\n\n")


class TestSections:
    TEXT = """
=====
Boats
=====

Sails
-----

Big
~~~

Of cloth.

Oars
----

Of wood.
"""

    def test_levels(self):
        document = read(self.TEXT)
        found = [(heading.level, heading.text) for heading in document.headings]
        assert found == [(1, "Boats"), (2, "Sails"), (3, "Big"), (2, "Oars")]
        for heading in document.headings:
            assert document.text[heading.start :].startswith(heading.text)

    def test_a_citation_says_the_section(self, tmp_path):
        (tmp_path / "boats.rst").write_text(self.TEXT)
        dataset = DocumentsDataset(
            path=tmp_path,
            chunker=SectionChunker(smallest=0),
            store=Store(tmp_path.parent / f"{tmp_path.name}-store"),
        )
        places = {each.text: each.metadata["place"] for each in dataset.corpus("default")}
        assert places["Oars\n\nOf wood."] == "boats.rst, 'Oars'"

    def test_sources_of_sphinx(self):
        assert read("Boats\n=====\n\nx\n", "index.rst.txt").headings[0].text == "Boats"

    @pytest.mark.parametrize(
        "text",
        ["A word\n==\n", "one\ntwo\n===\n", "  Indented\n  ========\n", "a\n\n----\n\nb\n"],
    )
    def test_what_is_no_title(self, text):
        assert read(text).headings == ()

    def test_markup_in_a_title(self):
        assert read("The ``open`` *call*\n====================\n").headings[0].text == (
            "The open call"
        )


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (":ref:`the rules <rules>`", "the rules"),
        (":ref:`rules`", "Rules of Play"),
        (":ref:`unknown`", "unknown"),
        (":doc:`Guide </x>` and :doc:`/y`", "Guide and /y"),
        (":py:func:`~os.path.join` :func:`open` :class:`!Foo`", "join() open() Foo"),
        (":unknown:`thing`", "thing"),
        (":pep:`8`, :rfc:`2822`", "PEP 8, RFC 2822"),
        ("`site <https://x.org>`_, `two words`_, word_, gone__", "site, two words, word, gone"),
        ("note [1]_ and [#a]_", "note [1] and [#a]"),
        ("*em* **strong** ``a * b_ |c|``", "em strong a * b_ |c|"),
        (r"\*star\* a\_ 2\ :sup:`10` H\ :sub:`2`\ O 1\ :sup:`st`", "*star* a_ 2¹⁰ H₂O 1st"),
        ("|product| and |other|", "Big Boat and |other|"),
        ("snake_case, 2 * 3 * 4, a*b*c, __init__", "snake_case, 2 * 3 * 4, a*b*c, __init__"),
        (":math:`a < b > c`", "a < b > c"),
    ],
)
def test_inline_markup(markup, text):
    document = f"{markup}\n\n.. |product| replace:: Big *Boat*\n\n.. _rules:\n\nRules of Play\n-------------\n"
    assert read(document).text.split("\n\n")[0] == text


class TestBlocks:
    @pytest.mark.parametrize(
        ("markup", "shown"),
        [
            ("a\nb\n", ["a b"]),
            (":Author: Ann\n:Date: May\n   2026\n", ["Author: Ann\nDate: May 2026"]),
            (":orphan:\n\ntext\n", ["text"]),
            ("* one\n  goes on\n* two\n", ["* one goes on\n* two"]),
            ("#. one\n#. two\n", ["- one\n- two"]),
            ("term\n  Its meaning\n  goes on.\n", ["term: Its meaning goes on."]),
            ("term : kind\n  Its meaning.\n", ["term (kind): Its meaning."]),
            ("-v, --verbose  Say more.\n--out FILE  Write.\n", None),
            ("| one\n| two\n", ["one\ntwo"]),
            ("Run::\n\n  $ ls\n    x\n\n  $ cd\n\nThen.\n", None),
            (">>> 1 + 1\n2\n\nx\n", ["```\n>>> 1 + 1\n2\n```", "x"]),
            ("x\n\n.. comment\n   goes on\n\n   still\n\ny\n", ["x", "y"]),
            (".. _a: https://x.org\n.. __: b\n\nx\n", ["x"]),
            (".. [1] A note\n   goes on.\n", ["[1] A note goes on."]),
        ],
    )
    def test_blocks(self, markup, shown):
        expected = {
            "-v": ["-v, --verbose: Say more.\n--out FILE: Write."],
            "Ru": ["Run:", "```\n$ ls\n  x\n\n$ cd\n```", "Then."],
        }
        assert read(markup).text == "\n\n".join(shown or expected[markup[:2]])

    @pytest.mark.parametrize(
        ("markup", "shown"),
        [
            (".. note:: Mind\n   the gap.\n", "Note: Mind the gap."),
            (".. warning::\n\n   Mind it.\n", "Warning: Mind it."),
            (".. versionadded:: 3.2\n   The quay.\n", "New in version 3.2: The quay."),
            (".. py:function:: open(path)\n\n   Opens.\n", "open(path)\n\nOpens."),
            (".. nobody-knows:: it\n   :a: b\n\n   Its body.\n", "it\n\nIts body."),
            (".. code-block:: py\n   :caption: List\n\n   a = 1\n", "List\n\n```\na = 1\n```"),
            (".. image:: a.png\n   :alt: A light\n", "A light"),
            (".. figure:: a.png\n\n   The caption.\n", "The caption."),
            (".. toctree::\n   :maxdepth: 1\n\n   a\n   b\n", ""),
            (".. raw:: html\n\n   <script>\n", ""),
            (".. only:: html\n\n   Shown.\n", "Shown."),
        ],
    )
    def test_directives(self, markup, shown):
        assert read(markup).text == shown


class TestTables:
    @pytest.mark.parametrize(
        "table",
        [
            "+------+----+\n| port | n  |\n+======+====+\n| Hull | 12 |\n+------+----+\n",
            "====  ==\nport  n\n====  ==\nHull  12\n====  ==\n",
            ".. list-table::\n   :header-rows: 1\n\n   * - port\n     - n\n   * - Hull\n     - 12\n",
            '.. csv-table::\n   :header: "port", "n"\n\n   "Hull", 12\n',
            ".. table::\n\n   ====  ==\n   port  n\n   ====  ==\n   Hull  12\n   ====  ==\n",
        ],
    )
    def test_rows_have_the_names_of_their_columns(self, table):
        assert read(table).text == "port: Hull; n: 12"

    def test_merged_cells_stand_in_each_place(self):
        table = """
+-------+-----+-----+
| port  | day | hour|
+=======+=====+=====+
| Hull  | any | 7   |
|       +-----+-----+
| (UK)  | closed    |
+-------+-----------+
"""
        assert read(table).text.split("\n") == [
            "port: Hull (UK); day: any; hour: 7",
            "port: Hull (UK); day: closed; hour: closed",
        ]

    def test_names_on_two_levels(self):
        table = """
=====  =====  ======
   Depth      Name
------------  ------
  May   June  of it
=====  =====  ======
7      9      Hull
=====  =====  ======
"""
        assert read(table).text == "Depth, May: 7; Depth, June: 9; Name, of it: Hull"

    def test_wide_letters(self):
        table = "+------+----+\n| 港   | n  |\n+======+====+\n| 横浜 | 12 |\n+------+----+\n"
        assert read(table).text == "港: 横浜; n: 12"


@pytest.mark.parametrize(
    "text",
    [
        "*a **b `c ``d :e:`f |g h_ " * 5_000,
        "-a, --b" * 10_000,
        ".. |a| replace:: " + "x" * 1_000 + "\n\n" + "|a| " * 20_000,
        "".join(f"{'  ' * depth}.. note:: x\n\n" for depth in range(400)),
        "== ==\na b\n\n" * 20_000,
        "+" + "---+" * 90 + "\n" + ("|" + "b" * 359 + "|\n+" + "---+" * 90 + "\n") * 100,
    ],
)
def test_hostile_text_takes_time_and_memory_in_proportion(text):
    start = time.process_time()
    assert len(read(text).text) < 10 * len(text) + 200_000
    assert time.process_time() - start < 10


class TestIncludes:
    @pytest.fixture(autouse=True)
    def _old_files(self, monkeypatch):
        monkeypatch.setattr(file_times, "_TICK", 0)

    def make(self, folder: Path, **parameters) -> DocumentsDataset:
        return DocumentsDataset(
            path=folder,
            chunker=SectionChunker(),
            store=Store(folder.parent / f"{folder.name}-store"),
            **parameters,
        )

    def text(self, folder: Path, **parameters) -> str:
        document = self.make(folder, **parameters).document("default", "guide/a.rst")
        assert document is not None
        return document.text

    def write(self, folder: Path, name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def test_files_of_the_folder(self, tmp_path):
        folder = tmp_path / "docs"
        self.write(
            folder,
            "guide/a.rst",
            "Top\n===\n\n.. include:: ../parts/b.inc\n\n.. include:: /parts/c.txt\n   :literal:\n\nEnd.\n",
        )
        self.write(folder, "parts/b.inc", "Part\n----\n\nBoats *leave*.\n\n.. include:: d.inc\n")
        self.write(folder, "parts/c.txt", "*raw*\n")
        self.write(folder, "parts/d.inc", "Deep.\n")
        assert self.text(folder) == (
            "Top\n\nPart\n\nBoats leave.\n\nDeep.\n\n```\n*raw*\n```\n\nEnd."
        )

    def test_a_part_of_a_file(self, tmp_path):
        folder = tmp_path / "docs"
        options = "   :start-after: begin\n   :end-before: end\n"
        self.write(folder, "guide/a.rst", f".. include:: b.inc\n{options}\nLast.\n")
        self.write(folder, "guide/b.inc", "x\nbegin\nShown.\nend\ny\n")
        assert self.text(folder) == "Shown.\n\nLast."

    def test_a_change_of_an_included_file_is_noticed(self, tmp_path):
        folder = tmp_path / "docs"
        self.write(folder, "guide/a.rst", "Text.\n\n.. include:: b.inc\n")
        assert self.text(folder).endswith("Included: b.inc")
        self.write(folder, "guide/b.inc", "One.\n")
        assert self.text(folder).endswith("One.")
        self.write(folder, "guide/b.inc", "Two and three.\n")
        assert self.text(folder).endswith("Two and three.")
        (folder / "guide/b.inc").unlink()
        assert self.text(folder).endswith("Included: b.inc")

    @pytest.mark.parametrize(
        "name",
        [
            "../../secret.txt",
            "/etc/hostname",
            ".env",
            "link.inc",
            "old/x.inc",
            "missing.inc",
            "a.rst",
            "",
            "pipe.inc",
        ],
    )
    def test_other_files_are_named(self, tmp_path, name):
        folder = tmp_path / "docs"
        secret = self.write(tmp_path, "secret.txt", "SECRET\n")
        self.write(folder, "guide/a.rst", f"Text.\n\n.. include:: {name}\n\nEnd.\n")
        self.write(folder, "guide/.env", "SECRET\n")
        self.write(folder, "guide/old/x.inc", "SECRET\n")
        (folder / "guide/link.inc").symlink_to(secret)
        os.mkfifo(folder / "guide/pipe.inc")
        dataset = self.make(folder, exclude="old/")
        document = dataset.document("default", "guide/a.rst")
        assert document is not None
        assert "SECRET" not in document.text
        assert "End." in document.text
        if name:
            assert f"Included: {name}" in document.text
            assert list(dataset.check()) == []
            listed = dataset._unread_log.path.read_text()
            assert (
                f"guide/a.rst: it includes files that are missing, excluded or outside of the folder: {name}"
                in listed
            )

    def test_files_that_include_each_other(self, tmp_path):
        folder = tmp_path / "docs"
        self.write(folder, "guide/a.rst", "A.\n\n.. include:: b.inc\n" * 20)
        self.write(folder, "guide/b.inc", "B.\n\n.. include:: c.inc\n" * 20)
        self.write(folder, "guide/c.inc", ".. include:: b.inc\n\n" + "C " * 10_000 + "\n")
        assert len(self.text(folder)) < 8_000_000


def test_an_include_that_no_folder_resolves_is_named():
    reader = find_reader(FoundFile("a.rst", "a.rst"))
    assert reader is not None
    documents = reader.read(b"Text.\n\n.. include:: b.inc\n")
    assert next(documents).text == "Text.\n\nIncluded: b.inc"
    with pytest.raises(Unreadable, match="b.inc"):
        next(documents)
