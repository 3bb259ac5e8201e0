"""Documents that change while they are served: the next turn finds what is there now, a turn in
progress ends well.
"""

import threading
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("watchfiles")

from convrag_web.server.served_model import ModelOptions
from convrag_web.server.watching import read_again, watching
from served import RunningServer, serve

DAYS = "The office is closed on Fridays in August."


@pytest.fixture
def served(tmp_path: Path):
    """A server over a folder with one document, and the folder."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "office.md").write_text(f"# Office\n\n{DAYS}\n")
    with serve(
        tmp_path, "dataset=documents", f"dataset.path={folder}", "generator=direct", "rewriter=none"
    ) as running:
        yield running, folder


def ask(server: RunningServer, question: str) -> tuple[str, list[str]]:
    """Ask in a new conversation: its id, and the documents of the passages that were found."""
    id = server.http.post("/api/conversations", json={}).json()["id"]
    assert (
        server.http.post(f"/api/conversations/{id}/turns", json={"question": question}).status_code
        == 200
    )
    record = server.http.get(f"/api/conversations/{id}/turns/1").json()
    return id, [each["metadata"]["document"] for each in record["contexts"]]


def read_time(server: RunningServer) -> str:
    return server.http.get("/api/models").json()["models"][0]["read"]


def test_the_next_turn_finds_what_is_there_now(served: tuple[RunningServer, Path]) -> None:
    server, folder = served
    id, found = ask(server, "When is the office closed?")
    assert found == ["office.md"]
    shown = {
        "passage": server.http.get(f"/api/conversations/{id}/turns/1").json()["contexts"][0]["id"]
    }
    assert (
        server.http.get(f"/api/conversations/{id}/document", params=shown)
        .json()["text"]
        .endswith(f"{DAYS}\n")
    )
    before = read_time(server)
    read_again(server.models)
    assert read_time(server) == before  # nothing has changed
    (folder / "office.md").unlink()
    (folder / "garden.md").write_text("# Garden\n\nThe garden is closed in winter.\n")
    read_again(server.models)
    assert read_time(server) > before
    assert ask(server, "When is the office closed?")[1] == ["garden.md"]
    gone = server.http.get(f"/api/conversations/{id}/document", params=shown)
    assert (gone.status_code, gone.json()["error"]["message"]) == (
        404,
        "the document is no longer in the data set",
    )
    follow = server.http.post(
        f"/api/conversations/{id}/turns", json={"question": "And the garden?"}
    )
    assert "closed in winter" in follow.text  # a conversation goes on with the new documents


def test_a_turn_in_progress_ends_with_what_it_began_with(
    served: tuple[RunningServer, Path],
) -> None:
    server, folder = served

    def change(event: object) -> None:
        if getattr(event, "stage", "") == "rewriter":
            (folder / "office.md").write_text("# Office\n\nThe office never closes.\n")
            read_again(server.models)

    pipeline = server.models["convrag"].pipeline
    record = pipeline.turn("moving", "When is the office closed?", listener=change, stages=True)
    assert DAYS in record.answer.text
    assert "never closes" in pipeline.turn("moving", "When is the office closed?").answer.text


def test_a_folder_that_is_emptied_costs_a_warning(
    served: tuple[RunningServer, Path], caplog
) -> None:
    server, folder = served
    text = (folder / "office.md").read_text()
    (folder / "office.md").unlink()
    read_again(server.models)
    assert "model convrag goes on with the documents of before" in caplog.text
    assert ask(server, "When is the office closed?")[1] == ["office.md"]
    (folder / "office.md").write_text(text)


def test_changes_are_noticed(
    served: tuple[RunningServer, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, folder = served
    model = server.models["convrag"]
    found = threading.Event()
    again = model.read_again

    def note() -> None:
        again()
        if ask(server, "What is bread made of?")[1] == ["bread.md"]:
            found.set()

    monkeypatch.setattr(model, "read_again", note)
    with watching(server.models, folder.parent / "store"):
        (folder / "bread.md").write_text("# Bread\n\nBread is made of flour.\n")
        assert found.wait(120)


def test_example_questions_are_read_again(tmp_path: Path) -> None:
    questions, corpus = tmp_path / "questions.jsonl", tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "p1", "text": "Ice floats on water."}\n')
    questions.write_text('{"_id": "c1", "text": "Why does ice float?"}\n')
    overrides = ["dataset=jsonl", f"dataset.queries={questions}", f"dataset.corpus={corpus}"]
    with serve(tmp_path, *overrides, "generator=direct") as server:
        assert read_examples(server) == ["Why does ice float?"]
        questions.write_text('{"_id": "c2", "text": "Does ice sink?"}\n')
        read_again(server.models)
        assert read_examples(server) == ["Does ice sink?"]


def read_examples(server: RunningServer) -> list[str]:
    return server.http.get("/api/models").json()["models"][0]["examples"]


def test_a_model_whose_domain_is_gone_goes_on_with_what_it_has(tmp_path: Path, caplog) -> None:
    for domain in ("staff", "garden"):
        folder = tmp_path / "handbook" / domain
        folder.mkdir(parents=True)
        (folder / "office.md").write_text(f"# Office\n\n{DAYS}\n")
    overrides = [
        "dataset=documents",
        f"dataset.path={tmp_path / 'handbook'}",
        "dataset.domains=folders",
    ]
    with serve(
        tmp_path, *overrides, "generator=direct", options=ModelOptions(domain="staff")
    ) as server:
        assert ask(server, "When is the office closed?")[1]
        (tmp_path / "handbook/staff/office.md").unlink()
        read_again(server.models)
        assert (
            "model convrag goes on with the documents of before: task.domain=staff" in caplog.text
        )
        assert ask(server, "When is the office closed?")[1]
