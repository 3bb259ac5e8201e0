"""Files that are damaged, or made to do harm: each is refused with its reason, and the others are
read.
"""

import io
import os
import random
import time
import zipfile
from pathlib import Path

import pytest

from convrag.sdk.text.unreadable import Unreadable
from convrag.store.store import Store
from convrag_chunkers.sentences import NoChunker
from convrag_documents import unreadable
from convrag_documents.dataset import DocumentsDataset
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import archive, find_reader
from document_files import make_docx, make_epub, make_paragraph, make_xlsx, make_zip
from fuzz.document_readers import SOUND


def read(name: str, content: bytes) -> list:
    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    return list(reader.read(content))


def refusal(name: str, content: bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        read(name, content)
    return caught.value.reason


def list_unread(dataset: DocumentsDataset) -> str:
    """The list of the first start."""
    assert list(dataset.check()) == []
    return dataset._unread_log.path.read_text("utf-8")


def make(folder: Path, store: Path, **parameters) -> DocumentsDataset:
    return DocumentsDataset(path=folder, chunker=NoChunker(), store=Store(store), **parameters)


@pytest.mark.parametrize("name", SOUND)
def test_sound_files_are_read(name):
    """They are what the fuzzer mutates (tests/fuzz/document_readers.py)."""
    assert read(name, SOUND[name])[0].text


class TestPdf:
    def encrypt(self, password: str, algorithm: str) -> bytes:
        from pypdf import PdfReader, PdfWriter

        writer = PdfWriter(clone_from=PdfReader(io.BytesIO(SOUND["a.pdf"])))
        writer.encrypt(password, "owner", algorithm=algorithm)
        buffer = io.BytesIO()
        writer.write(buffer)
        return buffer.getvalue()

    def test_a_password(self):
        assert (
            refusal("a.pdf", self.encrypt("secret", "AES-256"))
            == "it is encrypted, and needs a password"
        )

    @pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
    def test_an_encrypted_file_that_anybody_may_read(self, algorithm):
        assert read("a.pdf", self.encrypt("", algorithm))[0].text.startswith("Leave")

    def test_truncated_and_random(self, tmp_path):
        folder = tmp_path / "docs"
        folder.mkdir()
        (folder / "cut.pdf").write_bytes(SOUND["a.pdf"][:300])
        (folder / "random.pdf").write_bytes(random.Random(1).randbytes(3000))
        (folder / "sound.pdf").write_bytes(SOUND["a.pdf"])
        dataset = make(folder, tmp_path / "store")
        assert list(dataset.check()) == []
        assert [passage.id for passage in dataset.corpus("default")] == ["sound.pdf#1"]
        assert "2 of 3 files could not be read" in dataset.note()
        assert "cut.pdf: this is no PDF, or damaged: " in list_unread(dataset)

    def test_one_page_of_many_that_cannot_be_read(self, monkeypatch):
        from pypdf import PageObject

        extract = PageObject.extract_text

        def fail(page, **options):
            text = extract(page, **options)
            if "Sick" in text:
                raise KeyError("/Font")
            return text

        monkeypatch.setattr(PageObject, "extract_text", fail)
        found = find_reader(FoundFile("a.pdf", "a.pdf")).read(SOUND["a.pdf"])
        assert next(found).text == "Leave\nIt lasts."
        with pytest.raises(Unreadable, match="1 of its 2 pages cannot be read, page 2: KeyError"):
            next(found)


class TestArchives:
    def test_a_bomb(self, monkeypatch):
        monkeypatch.setattr(archive, "_MOST", 1_000_000)
        for name in ("a.docx", "a.xlsx"):
            members = {
                "word/document.xml": b"<a>" + b" " * 5_000_000,
                "xl/worksheets/sheet1.xml": b" " * 5_000_000,
            }
            assert refusal(name, make_zip(members)) == "it grows beyond 1 MB when it is unpacked"

    @pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
    def test_no_archive(self, name):
        assert refusal(name, b"PK\x03\x04 nothing").startswith("it is damaged: ")
        protected = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
        assert refusal(name, protected) == "it is protected by a password, or of Office 97 to 2003"

    @pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.epub"])
    def test_another_kind_of_archive(self, name):
        assert "is missing in it" in refusal(name, make_zip({"readme.txt": "hello"}))

    def test_an_encrypted_member(self):
        content = bytearray(SOUND["a.docx"])
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            for info in opened.infolist():
                content[info.header_offset + 6] |= 1
        position = 0
        while (position := content.find(b"PK\x01\x02", position)) >= 0:
            content[position + 8] |= 1
            position += 4
        assert "encrypted" in refusal("a.docx", bytes(content))

    def test_an_archive_that_grows_more_than_its_size_explains(self):
        member = b"<a>" + b" " * 11_000_000
        reason = refusal("a.docx", make_zip({"word/document.xml": member}))
        assert reason == "it grows beyond 10.3 MB when it is unpacked"

    def test_markup_that_grows_more_than_its_size_explains(self, monkeypatch):
        monkeypatch.setattr(archive, "_MARKUP_RATIO", 0)
        page = "<p>" + "a" * 2_050_000 + "</p>"
        assert refusal("a.epub", make_epub([page])) == "its text grows beyond 2 MB of markup"

    def test_many_tags(self, monkeypatch):
        monkeypatch.setattr(archive, "_MARKUP_RATIO", 1000)
        paragraphs = make_docx("<w:p/>" * 1_100_000)
        assert refusal("a.docx", paragraphs) == "it has more tags than a text of its size can have"

    def test_a_chain_of_styles(self):
        """A style far down the chain is no heading; reading them takes linear time."""
        styles = "".join(
            f'<w:style w:styleId="s{n}"><w:basedOn w:val="s{n + 1}"/></w:style>'
            for n in range(20_000)
        )
        members = {"word/styles.xml": f'<w:styles xmlns:w="w">{styles}</w:styles>'}
        start = time.process_time()
        assert read("a.docx", make_docx(make_paragraph("Text.", "s0"), members))[0].text == "Text."
        assert time.process_time() - start < 10

    def test_a_cell_far_away(self):
        """The library makes room for all cells in between, and ends the process where there is not
        enough.
        """
        stray = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
        reason = refusal("a.xlsx", make_xlsx({"A": [["item", "price"]]}, stray))
        assert reason.endswith("rows and 16,384 columns apart; delete the stray ones")


class TestXml:
    def test_entities(self):
        bomb = f'<!DOCTYPE l [<!ENTITY a "{"ha" * 50_000}">]><w:document xmlns:w="w">{"&a;" * 10_000}</w:document>'
        assert "limit on input amplification" in refusal(
            "a.docx", make_docx("", {"word/document.xml": bomb})
        )
        outside = '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
        members = {"META-INF/container.xml": f"{outside}<c>&a;</c>"}
        assert "it is damaged" in refusal("a.epub", make_zip(members))


class TestNesting:
    def test_json(self):
        assert "nested too deeply" in refusal("a.ipynb", b"[" * 200_000)
        assert "nested too deeply" in refusal("a.jsonl", b'{"a":' * 200_000)

    def test_xml(self):
        deep = f'<w:document xmlns:w="w"><w:body>{"<w:sdt>" * 600}{"</w:sdt>" * 600}</w:body></w:document>'
        reason = refusal("a.docx", make_docx("", {"word/document.xml": deep}))
        assert reason == "the elements of word/document.xml are nested more than 500 deep"

    def test_html(self):
        deep = b"<div>" * 6_000 + b"x" + b"</div>" * 6_000
        assert refusal("a.html", deep) == "its elements are nested more than 5,000 deep"
        flat = b"<p>x" * 20_000 + b"<br>" * 20_000 + b"<div>y</div>" * 20_000
        assert read("a.html", flat)[0].text.startswith("x")

    def test_attributes(self):
        many = b"<p" + b"".join(b" a%d" % n for n in range(21_000)) + b">x"
        assert refusal("a.html", many) == "an element has more than 20,000 attributes"
        long = (
            b'<img src="data:' + b"A" * 500_000 + b'"><p title="' + b"word " * 15_000 + b'">x</p>'
        )
        assert read("a.html", long)[0].text == "x"


class TestMarkdown:
    def test_badges_take_linear_time(self):
        start = time.process_time()
        read("a.md", b"[![a](" * 100_000)
        assert time.process_time() - start < 10

    @pytest.mark.parametrize(
        "text",
        [
            "<!--" * 100_000,
            "<!--\n" * 100_000,
            "<!-- -->" * 100_000,
            "<!-- -->\n" * 100_000,
            "a --> " + "<!--" * 100_000 + "\n\n-->",
            "a <!-- --> " + "".join("`" * length + " " for length in range(1, 600)),
            "a <!-- --> " + "` `` " * 100_000,
            "-->\n" + "- " * 100_000 + "<!--",
            "<!-- -->" + "\n" * 100_000 + " " * 100_000 + "a",
        ],
        ids=range(9),
    )
    def test_comments_take_linear_time(self, text):
        start = time.process_time()
        read("a.md", text.encode())
        assert time.process_time() - start < 5


class TestFiles:
    def test_a_log_that_is_too_large(self, tmp_path):
        folder = tmp_path / "docs"
        folder.mkdir()
        (folder / "a.md").write_text("# A\n\nText.")
        with (folder / "server.log").open("wb") as file:
            file.truncate(500_000_000)
        dataset = make(folder, tmp_path / "store")
        assert "server.log: 500 MB is more than dataset.max_megabytes=50" in list_unread(dataset)
        assert len(list(dataset.corpus("default"))) == 1

    def test_a_file_that_the_system_refuses(self, tmp_path, monkeypatch):
        folder = tmp_path / "docs"
        folder.mkdir()
        (folder / "a.md").write_text("# A\n\nText.")
        (folder / "b.md").write_text("# B\n\nText.")
        opened = Path.read_bytes

        def refuse(path):
            if path.name == "b.md":
                raise PermissionError(13, "Permission denied")
            return opened(path)

        monkeypatch.setattr(Path, "read_bytes", refuse)
        dataset = make(folder, tmp_path / "store")
        assert "b.md: Permission denied" in list_unread(dataset)
        assert len(list(dataset.corpus("default"))) == 1

    def test_a_pipe_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(Unreadable, match="it is a pipe"):
            unreadable.read_bytes(tmp_path / "pipe", 100)
