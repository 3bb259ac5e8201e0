"""`python -m convrag` over a folder of documents."""

from pathlib import Path

import pytest

from convrag.config.compose import compose
from convrag_tasks.hints import tell_once
from tasks import run_task


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "docs"
    (folder / "policies").mkdir(parents=True)
    (folder / "policies" / "leave.md").write_text(
        "# Leave\n\nIntro.\n\n## Parental leave\n\nParental leave lasts eighteen weeks\nfor every parent.\n"
    )
    (folder / "prices.csv").write_text("item,price\nlaptop,1200\n")
    (folder / "broken.pdf").write_bytes(b"no pdf")
    return folder


def run(tmp_path: Path, *arguments: str, stdin: str = ""):
    return run_task(
        [*arguments, "dataset=documents", f"store.path={tmp_path / 'store'}"], tmp_path, stdin=stdin
    )


def test_chat(tmp_path, folder):
    done = run(
        tmp_path, "task=chat", f"dataset.path={folder}", stdin="How long is parental leave?\n"
    )
    assert done.returncode == 0, done.stderr
    assert "Parental leave lasts eighteen weeks for every parent." in done.stdout
    assert "leave.md" in done.stdout
    assert (
        "1 of 3 files could not be read, or not all of it:\n  broken.pdf: this is no PDF"
        in done.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dataset.path=nowhere"], "dataset=documents: nowhere: there is no such file or folder"),
        (
            ["dataset.path='docs/*.odt'"],
            "docs/*.odt: there is no such file or folder (dataset.include takes patterns)",
        ),
        (
            ["dataset.path=docs", "dataset.include='!'"],
            "dataset.include=!: this is no pattern as in .gitignore",
        ),
        (
            ["dataset.path=docs", "dataset.domains=all"],
            "dataset.domains: value 'all' does not exist",
        ),
        (
            ["dataset.path=docs/broken.pdf"],
            "there is no document here that can be read. 1 of 1 files could not be read",
        ),
        ([], "dataset.path"),
    ],
)
def test_mistakes(tmp_path, folder, arguments, message):
    done = run(tmp_path, "task=index", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_asks_for_questions(tmp_path, folder):
    done = run(tmp_path, f"dataset.path={folder}")
    assert done.returncode == 2
    assert (
        "the data set has no conversations to run: ask questions of your own with task=chat or task="
        in done.stderr
    )


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ("retriever=bm25", ["retriever=hybrid embedder=fastembed"]),
        ("retriever=hybrid", []),
        ("retriever=hybrid llm=claude generator=ginger", []),
    ],
)
def test_what_other_choices_would_do_is_told_once(here, caplog, choices, told):
    config = compose("task=chat", "dataset=documents", "dataset.path=.", *choices.split())
    Path(config.store.path).mkdir(parents=True)
    for _ in range(2):
        tell_once(config)
    assert [part in said for part, said in zip(told, caplog.messages, strict=True)] == [True] * len(
        told
    )
