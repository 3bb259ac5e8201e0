"""dataset=documents: passages, domains, what is read again, and what is said of files that cannot
be read.
"""

import gc
import logging
import os
from pathlib import Path

import pytest

from convrag import ConfigError, DataError, Document, Store, UnknownName
from convrag.testing import DatasetContract
from convrag_chunkers.sentences import NoChunker
from convrag_documents import file_times, unread_log
from convrag_documents.dataset import DocumentsDataset
from convrag_documents.readers import Reader
from document_files import make_pdf


@pytest.fixture
def folder(tmp_path) -> Path:
    files = {
        "notes.txt": b"The office dog is called Biscuit.\n",
        "policies/leave.md": b"# Leave\n\nIntro.\n\n## Parental leave\n\nIt lasts eighteen weeks.\n",
        "policies/travel.html": b"<title>Travel</title><h1>Travel</h1><p>Trains before planes.</p>",
        "tables/faq.jsonl": b'{"text": "One."}\n\n{"text": "Three."}\n',
        "tables/report.pdf": make_pdf([["First page"], ["Second page"]]),
    }
    for name, content in files.items():
        path = tmp_path / "handbook" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return tmp_path / "handbook"


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(autouse=True)
def _old_files(monkeypatch):
    """A second start need not wait until the clock of the coarsest file system has moved on."""
    monkeypatch.setattr(file_times, "_TICK", 0)


@pytest.fixture
def parsed(monkeypatch) -> list[str]:
    """The formats of the files that a reader has read."""
    formats: list[str] = []
    read = Reader.read

    def note(self, content):
        formats.append(self.format)
        return read(self, content)

    monkeypatch.setattr(Reader, "read", note)
    return formats


def make(folder: Path | list[Path], store: Store, **parameters) -> DocumentsDataset:
    return DocumentsDataset(path=folder, chunker=NoChunker(), store=store, **parameters)


def passage_ids(dataset: DocumentsDataset, domain: str = "default") -> list[str]:
    return [passage.id for passage in dataset.corpus(domain)]


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def _folder(self, folder, store):
        self.parameters = {"path": folder, "chunker": NoChunker(), "store": store}

    def make(self) -> DocumentsDataset:
        return DocumentsDataset(**self.parameters)

    def ask(self, stage, arguments):
        return [list(stage.corpus(domain)) for domain in stage.domains()]


class TestPassages:
    def test_ids_and_places(self, folder, store):
        found = {passage.id: passage for passage in make(folder, store).corpus("default")}
        policies, faq = (
            ("policies/leave.md#1", "policies/travel.html#1"),
            ("tables/faq.jsonl:1#1", "tables/faq.jsonl:3#1"),
        )
        assert list(found) == ["notes.txt#1", *policies, *faq, "tables/report.pdf#1"]
        assert found["policies/travel.html#1"].title == "Travel"
        assert found["tables/report.pdf#1"].metadata["place"] == "tables/report.pdf, page 1"

    def test_documents(self, folder, store):
        dataset = make(folder, store)
        document = dataset.document("default", "policies/leave.md")
        assert isinstance(document, Document)
        assert document.id == "policies/leave.md"
        assert [heading.text for heading in document.headings] == ["Leave", "Parental leave"]
        assert dataset.document("default", "tables/faq.jsonl:3").text == "Three."
        for missing in ("tables/faq.jsonl", "tables/faq.jsonl:2", "../secret.md", ""):
            assert dataset.document("default", missing) is None
        with pytest.raises(UnknownName):
            dataset.document("other", "notes.txt")

    def test_each_passage_is_a_span_of_its_document(self, folder, store):
        dataset = make(folder, store)
        for passage in dataset.corpus("default"):
            document = dataset.document("default", passage.metadata["document"])
            assert (
                document.text[passage.metadata["start"] : passage.metadata["end"]] == passage.text
            )

    def test_a_domain_of_each_sub_folder(self, folder, store):
        dataset = make(folder, store, domains="folders")
        assert dataset.domains() == ["default", "policies", "tables"]
        assert passage_ids(dataset) == ["notes.txt#1"]
        assert passage_ids(dataset, "policies") == ["policies/leave.md#1", "policies/travel.html#1"]
        assert dataset.document("policies", "policies/leave.md") is not None
        assert dataset.document("tables", "policies/leave.md") is None
        with pytest.raises(UnknownName, match="Did you mean 'policies'"):
            list(dataset.corpus("policy"))

    def test_several_paths(self, folder, store):
        dataset = make([folder / "policies", folder / "notes.txt"], store)
        assert passage_ids(dataset) == [
            "notes.txt#1",
            "policies/leave.md#1",
            "policies/travel.html#1",
        ]

    def test_what_is_read_only_if_it_is_named(self, folder, store):
        (folder / "script.jsx2").write_text("print('hello')")
        assert "1 file is of other kinds: .jsx2 (1)." in make(folder, store).note()
        assert passage_ids(make(folder, store, include="*.jsx2")) == ["script.jsx2#1"]
        assert passage_ids(make(folder / "script.jsx2", store)) == ["script.jsx2#1"]

    def test_kinds_that_are_text_can_be_named(self, folder, store):
        (folder / "part.inc").write_text("Boats leave at noon.")
        (folder / "disk.img").write_bytes(b"\0\1")
        note = make(folder, store).note()
        assert note.endswith(
            "2 files are of other kinds: .img (1), .inc (1). dataset.text=[inc] reads them as text."
        )
        assert "part.inc#1" in passage_ids(make(folder, store, text="inc"))
        assert "part.inc#1" in passage_ids(make(folder, store, text=["x", "*.inc"]))


class TestUnreadable:
    def test_it_is_told_once(self, folder, store, caplog, monkeypatch):
        monkeypatch.setattr(unread_log, "_logged", {})
        (folder / "broken.pdf").write_bytes(b"no pdf")
        (folder / "logo.png").write_bytes(b"\x89PNG")
        (folder / "tables" / "faq.jsonl").write_bytes(b'{"text": "One."}\n{"text"\n')
        with caplog.at_level(logging.INFO):
            for _ in range(2):
                assert list(make(folder, store).check()) == []
        (warning,) = [
            record.getMessage()
            for record in caplog.records
            if record.levelno == logging.WARNING and record.name.startswith("convrag")
        ]
        assert warning.startswith(
            "2 of 6 files could not be read, or not all of it:\n  broken.pdf: this is no PDF"
        )
        assert "\n  tables/faq.jsonl: line 2: this is not JSON: " in warning
        assert warning.endswith("1 file is of other kinds: .png (1).")
        said, path, _ = make(folder, store).note().partition(f"{store.path}/unread-")
        assert said == "2 of 6 files could not be read, or not all of it: "
        assert path
        caplog.clear()
        for _ in range(2):  # the next process lists them no more, unless there are others
            monkeypatch.setattr(unread_log, "_logged", {})
            assert list(make(folder, store).check()) == []
            (folder / "memo.rtf").write_bytes(b"no RTF")
        assert [
            "memo.rtf" in each.getMessage()
            for each in caplog.records
            if each.levelno == logging.WARNING
        ] == [
            False,
            True,
        ]

    def test_what_has_changed_is_told_alone(self, folder, store, caplog, monkeypatch):
        """A server reads its folder again whenever a file changes."""
        monkeypatch.setattr(unread_log, "_logged", {})
        (folder / "broken.pdf").write_bytes(b"no pdf")
        (folder / "logo.png").write_bytes(b"\x89PNG")

        def read_again() -> str:
            caplog.clear()
            assert list(make(folder, store).check()) == []
            return "\n".join(record.getMessage() for record in caplog.records)

        assert "broken.pdf: this is no PDF" in read_again()
        assert read_again() == ""
        (folder / "notes.txt").write_text("The office cat is called Muffin.\n")
        (folder / "second.png").write_bytes(b"\x89PNG")
        assert read_again() == ""
        (folder / "memo.rtf").write_bytes(b"no RTF")
        changes = read_again()
        assert changes.startswith("Newly unread, or not read completely:\n  memo.rtf: ")
        assert "broken.pdf" not in changes
        (folder / "broken.pdf").unlink()
        (folder / "sound.mp3").write_bytes(b"ID3")
        assert read_again() == (
            "Read now, or gone:\n  broken.pdf\nNew kinds of files that have no reader: .mp3."
        )
        (folder / "memo.rtf").unlink()
        assert read_again() == "Read now, or gone:\n  memo.rtf"
        listed = make(folder, store)._unread_log.path.read_text("utf-8")
        assert "memo.rtf" not in listed

    def test_what_is_left_out_is_logged(self, folder, store, caplog):
        (folder / "logo.png").write_bytes(b"\x89PNG")
        with caplog.at_level(logging.INFO):
            assert list(make(folder, store).check()) == []
        assert "not read: logo.png (there is no reader for files of this kind)" in caplog.text

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({}, "there is no file here."),
            (
                {".hidden.md": b"x"},
                r"there is no file here\. What is hidden, ignored by git or excluded is left out",
            ),
            (
                {"a.pdf": b"x"},
                r"there is no document here that can be read\. 1 of 1 files could not be read.*:\n  a\.pdf: ",
            ),
            (
                {"a.txt": b"", "b.md": b" \n"},
                r"a\.txt: there is no text in it\n  b\.md: there is no text in it",
            ),
            ({"a.png": b"x"}, r"1 file is of other kinds: \.png \(1\)"),
        ],
    )
    def test_nothing_at_all(self, tmp_path, store, files, message):
        folder = tmp_path / "docs"
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        dataset = make(folder, store)
        (problem,) = dataset.check()
        assert problem.startswith(f"{folder}: ")
        with pytest.raises(DataError, match=message):
            dataset.domains()
        assert dataset.content_hash()  # check() says what is wrong

    def test_a_path_is_needed(self, store):
        with pytest.raises(ConfigError, match=r"dataset\.path=\[\]"):
            DocumentsDataset(path=[], chunker=NoChunker(), store=store)


class TestReadingAgain:
    def test_a_second_start_reads_no_file(self, folder, store, parsed, monkeypatch):
        first = list(make(folder, store).corpus("default"))
        assert len(parsed) == 5
        parsed.clear()
        monkeypatch.setattr(
            "convrag_documents.catalog.read_bytes",
            lambda *arguments: pytest.fail("a file was read"),
        )
        assert list(make(folder, store).corpus("default")) == first
        assert parsed == []

    def test_only_what_changed_is_read(self, folder, store, parsed):
        before = make(folder, store).content_hash()
        parsed.clear()
        (folder / "policies" / "leave.md").write_text("# Leave\n\nTwenty weeks.\n")
        (folder / "new.html").write_text("<p>New.</p>")
        (folder / "notes.txt").unlink()
        (folder / "tables" / "report.pdf").rename(folder / "report.pdf")
        dataset = make(folder, store)
        policies, faq = (
            ("policies/leave.md#1", "policies/travel.html#1"),
            ("tables/faq.jsonl:1#1", "tables/faq.jsonl:3#1"),
        )
        assert passage_ids(dataset) == ["new.html#1", *policies, "report.pdf#1", *faq]
        assert sorted(parsed) == ["HTML", "Markdown"]  # the moved file has the same contents
        assert dataset.content_hash() != before

    def test_a_change_within_the_same_tick(self, folder, store, monkeypatch):
        monkeypatch.setattr(file_times, "_TICK", 2_000_000_000)
        path = folder / "notes.txt"
        path.write_text("The dog is Biscuit.")
        make(folder, store).check()
        status = path.stat()
        path.write_text("The dog is Cracker.")  # as long, in the same inode
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        changed = path.stat()
        entries = file_times.load_times
        same = (status.st_size, status.st_mtime_ns, changed.st_ctime_ns, status.st_ino)

        def load(store, key):  # as if the clock of the file system had not moved on
            return {
                name: entry._replace(changed=same[2]) if name == "notes.txt" else entry
                for name, entry in entries(store, key).items()
            }

        monkeypatch.setattr("convrag_documents.catalog.load_times", load)
        assert "Cracker" in next(make(folder, store).corpus("default")).text

    def test_another_version_of_a_library_reads_again(self, folder, store, parsed, monkeypatch):
        from convrag_documents import readers

        make(folder, store).check()
        before = make(folder, store).content_hash()
        parsed.clear()
        monkeypatch.setattr(readers, "find_version", lambda name: "99" if name == "pypdf" else "1")
        readers._identify.cache_clear()
        try:
            assert make(folder, store).content_hash() != before
        finally:
            readers._identify.cache_clear()
        assert "PDF" in parsed

    def test_what_the_store_has_lost_is_read_again(self, folder, store, parsed):
        dataset = make(folder, store)
        expected = passage_ids(dataset)
        parsed.clear()
        store.entries._execute("DELETE FROM entries")
        assert passage_ids(dataset) == expected
        assert len(parsed) >= 5

    def test_an_interruption_keeps_what_was_read(self, folder, store, parsed, monkeypatch):
        read = Reader.read

        def interrupt(self, content):
            if self.format == "JSONL":
                raise KeyboardInterrupt
            return read(self, content)

        with monkeypatch.context() as patch:
            patch.setattr(Reader, "read", interrupt)
            with pytest.raises(KeyboardInterrupt):
                make(folder, store).check()
        parsed.clear()
        make(folder, store).check()
        assert sorted(parsed) == ["JSONL", "PDF"]

    def test_what_was_read_while_the_folder_changes_stays_as_it_was(self, folder, store):
        dataset = make(folder, store)
        before = list(dataset.corpus("default"))
        (folder / "notes.txt").write_text("Something else.")
        assert list(dataset.corpus("default")) == before
        assert list(make(folder, store).corpus("default")) != before


class TestFingerprints:
    def test_of_the_corpus(self, folder, store):
        class Named(NoChunker):
            fingerprint = "chunker-1"

        def compute(chunker) -> str:
            return DocumentsDataset(path=folder, chunker=chunker, store=store).corpus_fingerprint(
                "default"
            )

        first = compute(Named())
        assert compute(Named()) == first
        other = Named()
        other.fingerprint = "chunker-2"
        assert compute(other) != first
        (folder / "logo.png").write_bytes(b"\x89PNG")
        assert compute(Named()) == first  # a file that is not read changes no index
        (folder / "notes.txt").write_text("Another dog.")
        assert compute(Named()) != first

    def test_of_one_domain_only(self, folder, store):
        def compute(domain: str) -> str:
            return make(folder, store, domains="folders").corpus_fingerprint(domain)

        before = [compute("default"), compute("policies")]
        (folder / "notes.txt").write_text("Another dog.")
        assert [compute("default") != before[0], compute("policies") == before[1]] == [True, True]


def test_memory_is_bounded_by_the_largest_file(tmp_path, store):
    import tracemalloc

    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.txt").write_text(
            f"{number} " + "words and more words. " * 10_000
        )  # 220 kB each
    tracemalloc.start()
    try:
        assert (
            sum(len(passage.text) for passage in make(folder, store).corpus("default")) > 12_000_000
        )
        gc.collect()
        assert tracemalloc.get_traced_memory()[1] < 9_000_000
    finally:
        tracemalloc.stop()
