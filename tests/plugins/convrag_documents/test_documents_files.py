"""Which files of a folder are found."""

import os
import unicodedata
from pathlib import Path

import pytest

from convrag.api.errors import ConfigError, DataError
from convrag_documents.find_files import FoundFiles, Selection, find_files, make_suffixes


def write(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is {path.name}.")
    return folder


def find(*paths: Path, **selection) -> FoundFiles:
    return find_files(paths, Selection(**selection))


def ids(*paths: Path, **selection) -> list[str]:
    return [file.id for file in find(*paths, **selection).files]


def reasons(found: FoundFiles) -> dict[str, str]:
    return {each.id: each.reason for each in found.unread}


class TestPaths:
    def test_a_folder(self, tmp_path):
        write(tmp_path, "b.md", "policies/leave.md", "policies/Über uns/日本語 名前.txt", "a.md")
        assert ids(tmp_path) == [
            "a.md",
            "b.md",
            "policies/leave.md",
            "policies/Über uns/日本語 名前.txt",
        ]

    def test_a_file(self, tmp_path):
        write(tmp_path, "b.md", "x/a.md")
        assert ids(tmp_path / "x" / "a.md") == ["a.md"]

    def test_several_have_ids_below_the_folder_that_holds_all(self, tmp_path):
        write(tmp_path, "hr/leave.md", "hr/old/pay.md", "it/vpn.md", "it/secret.md")
        assert ids(tmp_path / "it" / "vpn.md", tmp_path / "hr") == [
            "hr/leave.md",
            "hr/old/pay.md",
            "it/vpn.md",
        ]

    def test_a_name_that_looks_like_a_pattern(self, tmp_path):
        write(tmp_path, "what [draft]?.md", "d.md")
        assert ids(tmp_path / "what [draft]?.md") == ["what [draft]?.md"]

    @pytest.mark.parametrize("name", ["missing", "missing/*.md", "a.md/b.md"])
    def test_a_path_that_does_not_exist(self, tmp_path, name):
        write(tmp_path, "a.md")
        with pytest.raises(DataError, match="there is no such file or folder"):
            find(tmp_path / name)


def change_form(name: str, form: str) -> str:
    return unicodedata.normalize(form, name)


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
class TestNormalForms:
    """Names as macOS stores them (NFD) and as keyboards type them (NFC) are one name."""

    NAME = "Büro/Über café.md"

    def test_an_id_is_composed(self, tmp_path, stored, typed):
        write(tmp_path, change_form(self.NAME, stored), "b.md")
        assert change_form(self.NAME, "NFC") in ids(tmp_path)

    def test_include(self, tmp_path, stored, typed):
        write(tmp_path, change_form(self.NAME, stored), "b.md")
        wanted = [change_form(self.NAME, "NFC")]
        for pattern in ("Büro/", "Über*", self.NAME):
            assert ids(tmp_path, include=(change_form(pattern, typed),)) == wanted

    def test_exclude(self, tmp_path, stored, typed):
        write(tmp_path, change_form(self.NAME, stored), "b.md")
        for pattern in ("Büro/", "/Büro", "Über*.md"):
            assert ids(tmp_path, exclude=(change_form(pattern, typed),)) == ["b.md"]

    def test_the_path(self, tmp_path, stored, typed):
        write(tmp_path, change_form(self.NAME, stored))
        assert ids(tmp_path / change_form("Büro", typed)) == [change_form("Über café.md", "NFC")]
        assert ids(tmp_path / change_form(self.NAME, typed)) == [change_form("Über café.md", "NFC")]


def test_names_that_differ_in_their_form_alone_are_two_files(tmp_path):
    names = [change_form("é.md", form) for form in ("NFC", "NFD")]
    write(tmp_path, *names)
    found = find(tmp_path).files
    assert len({file.path for file in found}) == len(list(tmp_path.iterdir()))
    assert names[0] in {file.id for file in found}


class TestText:
    @pytest.mark.parametrize("kind", ["inc", ".inc", "*.inc", "INC"])
    def test_ends_of_names(self, tmp_path, kind):
        write(tmp_path, "a.inc", "B.INC", "c.png", "inc")
        found = find(tmp_path, text=make_suffixes([kind])).files
        assert [file.id for file in found if file.named] == ["B.INC", "a.inc"]

    def test_two_suffixes(self, tmp_path):
        write(tmp_path, "a.conf.in", "b.in")
        found = find(tmp_path, text=make_suffixes(["conf.in"])).files
        assert [file.named for file in found] == [True, False]

    @pytest.mark.parametrize("kind", ["", ".", "*", "a/b", "[ab]", "i?c"])
    def test_what_is_no_end_of_a_name(self, kind):
        with pytest.raises(ConfigError, match=r"dataset\.text=.*: name the ends of names"):
            make_suffixes([kind])


class TestSelection:
    def test_include(self, tmp_path):
        write(tmp_path, "a.md", "b.txt", "x/c.md", "x/d.html")
        assert ids(tmp_path, include=("*.md",)) == ["a.md", "x/c.md"]
        assert ids(tmp_path, include=("x/", "b.txt")) == ["b.txt", "x/c.md", "x/d.html"]

    def test_exclude(self, tmp_path):
        write(tmp_path, "a.md", "old/b.md", "x/old/c.md", "x/d.md")
        assert ids(tmp_path, exclude=("old/",)) == ["a.md", "x/d.md"]
        assert ids(tmp_path, exclude=("/old", "*/d.md")) == ["a.md", "x/old/c.md"]

    @pytest.mark.parametrize("parameter", ["include", "exclude"])
    def test_a_pattern_that_is_none(self, tmp_path, parameter):
        with pytest.raises(ConfigError, match=rf"dataset\.{parameter}=!: this is no pattern"):
            find(tmp_path, **{parameter: ("!",)})

    def test_hidden_files(self, tmp_path):
        write(tmp_path, ".a.md", ".git/b.md", "x/.c/d.md", "e.md", "~$e.docx")
        found = find(tmp_path)
        assert [file.id for file in found.files] == ["e.md"]
        assert ids(tmp_path / ".git") == ["b.md"]  # it was named
        assert len(ids(tmp_path, ignored=True)) == 5

    def test_runs_and_the_store(self, tmp_path):
        write(
            tmp_path,
            "a.md",
            "outputs/b.md",
            "outputs/2026/c/.hydra/config.yaml",
            "outputs/2026/c/summary.md",
        )
        write(tmp_path, "outputs/store/told.txt")
        assert ids(tmp_path, store=tmp_path / "outputs" / "store") == ["a.md", "outputs/b.md"]

    def test_what_git_ignores(self, tmp_path):
        write(
            tmp_path,
            "a.log",
            "b.md",
            "build/c.md",
            "x/d.log",
            "x/keep.log",
            "x/build/e.md",
            "x/f.tmp",
            "y/f.tmp",
        )
        (tmp_path / ".gitignore").write_text("# logs\n*.log\n/build/\n!\n")
        (tmp_path / "x" / ".gitignore").write_text("!keep.log\n*.tmp\n")
        found = find(tmp_path)
        assert [file.id for file in found.files] == [
            "b.md",
            "x/build/e.md",
            "x/keep.log",
            "y/f.tmp",
        ]

    def test_what_the_repository_above_ignores(self, tmp_path):
        write(tmp_path, "docs/a.md", "docs/draft/b.md", "docs/c.bak", "docs/local.md")
        (tmp_path / ".git" / "info").mkdir(parents=True)
        (tmp_path / ".git" / "info" / "exclude").write_text("local.md\n")
        (tmp_path / ".gitignore").write_text("*.bak\ndocs/draft/\n")
        assert ids(tmp_path / "docs") == ["a.md"]


class TestLinks:
    def test_links_out_of_the_folder(self, tmp_path):
        folder = write(tmp_path / "docs", "a.md")
        write(tmp_path, "secret.md", "secrets/b.md")
        (folder / "link.md").symlink_to(tmp_path / "secret.md")
        (folder / "folder").symlink_to(tmp_path / "secrets")
        found = find(folder)
        assert [file.id for file in found.files] == ["a.md"]
        out = "it is a symbolic link out of the folder, or to nothing"
        assert reasons(found) == {"folder": out, "link.md": out}

    def test_cycles(self, tmp_path):
        write(tmp_path, "x/a.md")
        (tmp_path / "x" / "up").symlink_to(tmp_path)
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        found = find(tmp_path)
        assert [file.id for file in found.files] == ["x/a.md"]
        assert reasons(found) == {"loop": "it is a symbolic link out of the folder, or to nothing"}

    def test_a_link_that_the_user_names(self, tmp_path):
        write(tmp_path, "real/a.md")
        (tmp_path / "handbook").symlink_to(tmp_path / "real")
        (tmp_path / "b.md").symlink_to(tmp_path / "real" / "a.md")
        assert ids(tmp_path / "handbook") == ["a.md"]
        assert ids(tmp_path / "b.md") == ["b.md"]


class TestOddEntries:
    def test_names_that_are_not_utf_8(self, tmp_path):
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), b"caf\xe9.md"))).write_text("text")  # noqa: PTH118
        assert ids(tmp_path) == [r"caf\xe9.md"]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may list any folder")
    def test_a_folder_that_cannot_be_listed(self, tmp_path):
        write(tmp_path, "a.md", "x/b.md")
        (tmp_path / "x").chmod(0)
        try:
            found = find(tmp_path)
        finally:
            (tmp_path / "x").chmod(0o700)
        assert reasons(found) == {"x/": "Permission denied"}
