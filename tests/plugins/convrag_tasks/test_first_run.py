"""`python -m convrag`, with nothing chosen: a conversation, scores in words, what to try next."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from commands import run_convrag
from convrag import Answer, Evidence, EvidenceItem, Passage, Query, Run, RunSummary, TurnRecord
from convrag.config.command import Command
from convrag_tasks.first_run import MEANINGS, NEXT_STEPS, SHOWN, FirstRunDisplay, is_first_run
from places import ROOT

Show = Callable[[list[TurnRecord]], str]

KETTLE = Passage(
    "kettle-1", "It whistles when the water boils, and is then taken off the fire.", title="Kettles"
)
LEAVES = Passage("leaves-1", "Green tea is steeped at 70 degrees.", title="Leaves")


def turn(
    number: int, question: str, query: str, *, conversation: str = SHOWN, cites: str = "kettle-1"
) -> TurnRecord:
    return TurnRecord(
        conversation,
        f"{conversation}<::>{number}",
        "default",
        number,
        question,
        queries=(Query(query),),
        evidence=Evidence(
            (EvidenceItem(1, KETTLE, KETTLE.text), EvidenceItem(2, LEAVES, LEAVES.text))
        ),
        answer=Answer("It whistles [1]. " * 9, (cites,)),
        gold={"kettle-1": 1, "leaves-1": 0},
    )


SCORES = {"nDCG@5": 0.5, "R@5": 0.6}
SUMMARY = RunSummary(
    *(SCORES, {"default": SCORES}, {"overall": 4, "default": 4}, 4, 0, {}, {}, {}, 1.0),
    intervals={"nDCG@5": (0.4, 0.6), "R@5": (0.5, 0.7)},
    main_measures=("nDCG@5",),
    judged=3,
    referenced=4,
)


@pytest.fixture
def show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Show:
    """Shows records as a run of them ends; returns what is printed into 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def show(records: list[TurnRecord]) -> str:
        display, run = FirstRunDisplay(), Run(tmp_path, {}, conversations=2, turns=len(records))
        for record in records:
            display.convrag_turn_finished(run, record)
        display.show_results(run, SUMMARY)
        display.show_next_steps()
        return capsys.readouterr().out

    return show


def test_it_is_the_run_of_the_sample_with_nothing_chosen() -> None:
    chosen = {"dataset": "sample", "rewriter": "auto"}
    assert is_first_run(Command([], chosen))
    assert is_first_run(Command(["store.path=elsewhere"], chosen)), (
        "what is kept elsewhere is the same"
    )
    assert not is_first_run(Command(["rewriter=none"], chosen))
    assert not is_first_run(Command([], chosen, in_grid=True))
    assert not is_first_run(Command([], chosen | {"dataset": "jsonl"}))
    assert not is_first_run(Command())


def test_a_turn_shows_rewrite_sources_and_answer(show: Show) -> None:
    others = [turn(n, "Where?", "Where?", conversation="other") for n in (1, 2)]
    records = [turn(1, "What whistles?", "what whistles?"), turn(2, "Why?", "Why? kettle"), *others]
    records += [turn(n, f"Question {n}?", "?") for n in (3, 4)]
    shown = show(records)
    assert re.findall(r"^Question +(.*)", shown, re.MULTILINE) == [
        "What whistles?",
        "Why?",
        "Question 3?",
    ]
    assert re.findall(r"^Rewritten +(.*)", shown, re.MULTILINE) == [
        "Why? kettle",
        "?",
    ]  # not where only case differs
    assert (
        re.findall(r"^Source +(.*)", shown, re.MULTILINE) == ["[1] Kettles"] * 3
    )  # what is cited, by its title
    assert re.search(r"^Answer +It whistles \[1\]\. .*\n {11}\S", shown, re.MULTILINE)


def test_a_turn_that_failed_says_so(show: Show) -> None:
    failed = replace(
        turn(1, "Why?", "Why? kettle"), answer=Answer(""), error="generator: no server"
    )
    assert "No answer  generator: no server" in show([failed])


def test_scores_have_words_and_lines_have_80_columns(show: Show, tmp_path: Path) -> None:
    shown = show([turn(1, "Why?", "Why? kettle")])
    assert "score" in shown
    assert "default" not in shown
    assert "relevant passages" in shown
    assert "R@5" not in shown
    assert "All 2 measures" in shown
    assert "3 of 4 turns have relevance judgements, 4 reference answers." in shown
    loose = [line for line in shown.splitlines() if len(line) > 80 and str(tmp_path) not in line]
    assert [
        line for line in loose if "python -m convrag" not in line
    ] == []  # paths and commands can be pasted
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_the_three_steps_are_commands_of_the_docs() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    lines = {
        line.strip() for page in pages for line in page.read_text(encoding="utf-8").splitlines()
    }
    assert {command for _, command in NEXT_STEPS} <= lines


@pytest.mark.slow
def test_the_first_command(tmp_path: Path) -> None:
    done = run_convrag([], tmp_path)
    assert done.returncode == 0, done.stderr
    parts = (
        "Question   How do astronauts",
        "Answer ",
        "Rewritten ",
        "nDCG@5",
        "45 of 49",
        "Try next",
    )
    places = [done.stdout.index(part) for part in parts]
    assert places == sorted(places)
    assert "45 of 49 turns have relevance judgements, 49 reference answers.\n" in done.stdout
    assert set(MEANINGS) == set(re.findall(r"^│ (\S+) +│ +[\d.]+ │", done.stdout, re.MULTILINE))
    assert "token" not in done.stdout
    (folder,) = (tmp_path / "outputs").glob("20*/*")
    assert "prompt tokens" not in (folder / "summary.md").read_text(encoding="utf-8")
