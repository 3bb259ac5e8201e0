"""The packages of docs/examples that people copy: small, complete, installed together, and used in
one run.
"""

import csv
import json
import tomllib
from importlib.metadata import version as convrag_version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from convrag import Question
from convrag.sdk.llm.recording import format_reply
from convrag.testing import RecordedLLM
from convrag_rewriters.baselines import NoRewriter
from places import ROOT
from third_party import Environment

FOLDER = ROOT / "docs/examples"
GALLERY = {
    "imagined": ["rewriter=imagined"],
    "chat_csv": ["dataset=chat_csv"],
    "csv_tracker": ["tracker=csv"],
    "novelty": ["metrics=novelty"],
}
"""Package -> the options that it brings."""

MOST_LINES = 150


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """One with all packages of the gallery."""
    made = Environment(tmp_path_factory.mktemp("gallery"))
    for name in GALLERY:
        made.install_project(FOLDER / name)
    return made


def test_the_gallery_is_listed() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    folders = {
        path.name
        for path in FOLDER.iterdir()
        if path.is_dir() and (path / "pyproject.toml").exists()
    }
    assert folders == {*GALLERY, "acme"}
    for name in GALLERY:
        assert f"| [{name}](#{name}) |" in page
        assert f"\n## {name}\n" in page


@pytest.mark.parametrize("name", GALLERY)
def test_each_is_a_small_whole_package(name: str) -> None:
    lines = sum(
        len(path.read_text(encoding="utf-8").splitlines()) for path in (FOLDER / name).rglob("*.py")
    )
    assert lines < MOST_LINES
    readme = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    option = GALLERY[name][0].partition("=")[2]
    assert f"pip install -e docs/examples/{name}" in readme
    assert f"={option}" in readme
    project = tomllib.loads((FOLDER / name / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert project["entry-points"]["convrag"] == {name: name}
    made_for = [
        each for each in map(Requirement, project["dependencies"]) if each.name == "convrag"
    ]
    assert made_for
    assert made_for[0].specifier.contains(convrag_version("convrag"), prereleases=True)


@pytest.mark.slow
def test_each_passes_its_own_tests(environment: Environment) -> None:
    folders = [str(FOLDER / name / "tests") for name in GALLERY]
    done = environment.python("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *folders)
    assert done.returncode == 0, done.stdout


def test_they_work_together(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(environment.site))
    _record_passages(environment.work / "replies.jsonl")
    data = [f"dataset.{name}={FOLDER / 'chat_csv' / name}.csv" for name in ("chats", "articles")]
    done = environment.run_command(
        "dataset=chat_csv",
        *data,
        "rewriter=imagined",
        "rewriter.first=none",
        "llm=replay",
        "llm.path=replies.jsonl",
        "history=gold",
        "reranker=bm25",
        "generator=direct",
        "generator.llm=extractive",
        "metrics=[ranking,novelty]",
        "tracker=csv",
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Scores added to outputs/scores.csv" in done.stdout
    with (environment.work / "outputs/scores.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["measure"]: row for row in csv.DictReader(file)}
    assert rows["nDCG@5"]["rewriter"] == "imagined"
    assert 0 < float(rows["nDCG@5"]["value"]) <= 1
    assert "answer_novelty" in rows
    (plot,) = environment.work.glob("outputs/2*/*/novelty.svg")
    assert "share that is new" in plot.read_text(encoding="utf-8")
    (records,) = environment.work.glob("outputs/2*/*/intermediate/*.jsonl")
    turns = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    assert [len(turn["queries"]) for turn in turns] == [2, 2, 2, 2]


def _record_passages(path: Path) -> None:
    """Write a recording with a passage for each question of the chats, as task=record does of a
    real model.
    """
    from chat_csv.dataset import ChatDataset
    from imagined.rewriter import ImaginedRewriter

    chats = ChatDataset(
        chats=FOLDER / "chat_csv/chats.csv", articles=FOLDER / "chat_csv/articles.csv"
    )
    llm = RecordedLLM(replies={"": "Vinegar and water remove limescale from a kettle."})
    rewriter = ImaginedRewriter(llm=llm, first=NoRewriter())
    for turn in (turn for chat in chats.conversations() for turn in chat.turns):
        rewriter.rewrite(Question(turn.question))
    lines = [format_reply(prompt, llm.complete(prompt)) for prompt in list(llm.prompts)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
