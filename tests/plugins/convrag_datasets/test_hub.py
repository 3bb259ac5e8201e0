"""Downloads with the hub's own library, from a server on loopback that answers as the hub does."""

import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from convrag import ConfigError, Passage
from convrag.sdk.errors import MissingExtra
from convrag_datasets.huggingface import HuggingfaceDataset

hub_constants = pytest.importorskip("huggingface_hub.constants")

NAME = "acme/talks"


@dataclass
class Hub:
    """A data set on the imitated hub.

    Args:
        files: name -> contents.
        requested: the names of the files that were downloaded so far.
        status: of every answer about the data set.
    """

    files: dict[str, bytes]
    requested: list[str] = field(default_factory=list)
    status: int = 200
    address: str = ""

    @property
    def commit(self) -> str:
        return hashlib.sha1(repr(sorted(self.files.items())).encode()).hexdigest()

    def describe(self) -> dict[str, object]:
        siblings = [{"rfilename": name} for name in self.files]
        return {"id": NAME, "sha": self.commit, "siblings": siblings, "private": False}

    def list_tree(self) -> list[dict[str, object]]:
        return [
            {"type": "file", "path": name, "size": len(data), "oid": _hash(data)}
            for name, data in self.files.items()
        ]


def _hash(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def _make_handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            path = unquote(urlsplit(self.path).path)
            about = f"/api/datasets/{NAME}"
            if hub.status != 200 or not path.startswith((about, f"/datasets/{NAME}")):
                status = hub.status if hub.status != 200 else 404
                self.send(b"{}", status, {"X-Error-Code": "RepoNotFound"})
            elif path.startswith(f"{about}/tree/"):
                self.send(json.dumps(hub.list_tree()).encode())
            elif path.startswith(about):
                self.send(json.dumps(hub.describe()).encode())
            else:
                name = path.partition(f"/resolve/{hub.commit}/")[2]
                if self.command == "GET":
                    hub.requested.append(name)
                data = hub.files[name]
                self.send(data, 200, {"ETag": f'"{_hash(data)}"', "X-Repo-Commit": hub.commit})

        def send(
            self, data: bytes, status: int = 200, headers: dict[str, str] | None = None
        ) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

    return Handler


def _lines(*rows: dict[str, object]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """The library asks this server, and keeps what it downloads in a folder of the test."""
    files = {
        "README.md": b"---\n---\n",
        "dataset_infos.json": b"{}",
        "turns/test.jsonl": _lines({"question": "Red?", "relevant": ["p1"]}),
        "turns/train.jsonl": _lines({"question": "Train?"}),
        "corpus/corpus.jsonl": _lines({"_id": "p1", "text": "A rose.", "title": "Roses"}),
    }
    hub = Hub(files)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(hub))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(hub_constants, "ENDPOINT", hub.address)
    template = f"{hub.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(hub_constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(hub_constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub_constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.chdir(tmp_path)
    yield hub
    server.shutdown()
    server.server_close()
    thread.join()


def make(**given: str) -> HuggingfaceDataset:
    return HuggingfaceDataset(
        name=NAME, subset="turns", corpus=NAME, corpus_subset="corpus", **given
    )


def ask(dataset: HuggingfaceDataset) -> list[str]:
    return [turn.question for each in dataset.conversations() for turn in each.turns]


def test_only_the_files_of_the_split_are_downloaded_once(hub: Hub) -> None:
    dataset = make()
    assert list(dataset.check()) == []
    assert ask(dataset) == ["Red?"]
    assert dataset.qrels() == {"1": {"p1": 1}}
    assert list(dataset.corpus("default")) == [Passage("p1", "A rose.", "Roses")]
    assert sorted(hub.requested) == ["corpus/corpus.jsonl", "turns/test.jsonl"]
    assert ask(make()) == ["Red?"]
    assert len(hub.requested) == 2


def test_the_same_files_in_a_folder_are_the_same_data_set(hub: Hub, tmp_path: Path) -> None:
    for name, data in hub.files.items():
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / name).write_bytes(data)
    copy = str(tmp_path / "copy")
    folder = HuggingfaceDataset(name=copy, subset="turns", corpus=copy, corpus_subset="corpus")
    dataset = make()
    assert dataset.content_hash() == folder.content_hash() != ""
    assert dataset.corpus_fingerprint("default") == folder.corpus_fingerprint("default")
    assert list(dataset.conversations()) == list(folder.conversations())


def test_a_new_commit_is_downloaded_and_a_pinned_one_stays(hub: Hub) -> None:
    first = hub.commit
    assert ask(make()) == ["Red?"]
    hub.files["turns/test.jsonl"] = _lines({"question": "Blue?"})
    assert ask(make()) == ["Blue?"]
    hub.status = 503
    assert ask(make(revision=first)) == ["Red?"]


@pytest.mark.parametrize("way", ["offline", "unreachable", "down"])
def test_the_cache_is_read_where_the_hub_cannot_be_reached(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    assert ask(make()) == ["Red?"]
    if way == "offline":
        monkeypatch.setattr(hub_constants, "HF_HUB_OFFLINE", True)
    elif way == "unreachable":
        monkeypatch.setattr(hub_constants, "ENDPOINT", "http://127.0.0.1:9")
    else:
        hub.status = 503
    assert ask(make()) == ["Red?"]
    assert "acme/talks is read from the cache; the hub was not reached: " in caplog.text
    missing_split, missing_corpus = make(split="validation").check()
    assert "dataset.split 'validation' does not exist. Choose from: test" in missing_split
    assert missing_corpus.endswith("corpus: there is no such folder")


def test_a_hub_that_cannot_be_reached_and_no_cache(
    monkeypatch: pytest.MonkeyPatch, hub: Hub
) -> None:
    monkeypatch.setattr(hub_constants, "ENDPOINT", "http://127.0.0.1:9")
    (problem,) = HuggingfaceDataset(name=NAME).check()
    assert "'acme/talks' is not a folder here, and cannot be downloaded from the hub: " in problem
    assert "refused" in problem
    assert "hf download acme/talks --repo-type dataset --local-dir FOLDER" in problem


def test_a_data_set_that_the_hub_has_not_or_refuses(hub: Hub) -> None:
    (problem,) = HuggingfaceDataset(name="acme/walks").check()
    assert (
        "'acme/walks' is not a folder here, and cannot be downloaded from the hub: 404" in problem
    )
    assert ask(make()) == ["Red?"]
    hub.status = 403
    (problem,) = make().check()  # whose access was taken away, is not served from the cache
    assert "403" in problem
    assert "hf_secret" not in problem


def test_a_data_set_without_tables(hub: Hub) -> None:
    hub.files = {"talks.py": b"raise SystemExit", "README.md": b""}
    (problem,) = HuggingfaceDataset(name=NAME).check()
    assert "acme/talks: there is no file of rows (.jsonl, .json, .csv, .tsv, .parquet)" in problem
    assert hub.requested == []


def test_the_hub_needs_its_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        MissingExtra,
        match=r"reading 'acme/talks' from the hub needs huggingface_hub.*convrag\[huggingface\]",
    ):
        list(HuggingfaceDataset(name=NAME).conversations())


def test_paths_are_never_looked_up_on_the_hub(hub: Hub, tmp_path: Path) -> None:
    for name in (str(tmp_path / "nowhere"), "./acme/talks", "~/acme", "a/b/c"):
        (problem,) = HuggingfaceDataset(name=name).check()
        assert "there is no such folder" in problem
    with pytest.raises(ConfigError, match=r"dataset\.name is empty"):
        HuggingfaceDataset(name="")
