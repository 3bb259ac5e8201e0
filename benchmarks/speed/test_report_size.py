"""report.html of 10,000 turns: its size, and how long it takes to write and to open.

Run it by name: pytest benchmarks/speed/test_report_size.py -n 0 -s
"""

import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from convrag import (
    Answer,
    Evidence,
    EvidenceItem,
    Hit,
    Message,
    Passage,
    Query,
    Run,
    RunSummary,
    TurnRecord,
)
from convrag.sdk.types import Usage
from convrag_web.report.page import LIMIT, REPORT
from convrag_web.report.reports import write_run_report
from web.browser import open_browser

TURNS, PASSAGES, LENGTH, RETRIEVED, SHOWN = 10_000, 50_000, 1_000, 10, 5


class ManyRecords:
    """Records that are made anew at each pass, so that memory holds one of them."""

    def __init__(self) -> None:
        generator = random.Random(1)
        letters = "eeeettttaaaoooiiinnnssshhhrrrddllcumwfgypbvk"
        words = [
            "".join(generator.choices(letters, k=generator.randint(2, 9))) for _ in range(20_000)
        ]
        weights = [1 / (rank + 5) for rank in range(len(words))]
        self._texts = [
            " ".join(generator.choices(words, weights, k=LENGTH // 6))[:LENGTH]
            for _ in range(PASSAGES)
        ]

    def __iter__(self) -> Iterator[TurnRecord]:
        generator = random.Random(2)
        for number in range(TURNS):
            conversation, place = divmod(number, 8)
            topic = conversation * PASSAGES * 8 // TURNS
            near = [
                (topic + offset) % PASSAGES for offset in generator.sample(range(60), RETRIEVED)
            ]
            passages = [Passage(f"p{each}", self._texts[each], f"Title {each}") for each in near]
            yield make_record(f"c{conversation}", place + 1, passages)

    def scores(self) -> dict[str, dict[str, float]]:
        generator = random.Random(3)
        names = [f"measure{number}" for number in range(18)] + ["nDCG@5", "ROUGE-L"]
        return {record.turn_id: {name: generator.random() for name in names} for record in self}


def make_record(conversation: str, number: int, passages: list[Passage]) -> TurnRecord:
    question = f"What about {passages[0].text[:60]}?"
    items = tuple(
        EvidenceItem(place, each, each.content) for place, each in enumerate(passages[:SHOWN], 1)
    )
    evidence = "\n\n".join(f"[{item.number}] {item.text}" for item in items)
    answer = f"{passages[0].text[:120]}. [1] {passages[1].text[:150]}. [2]"
    return TurnRecord(
        conversation_id=conversation,
        turn_id=f"{conversation}<::>{number}",
        domain="default",
        number=number,
        original_query=question,
        queries=(Query(f"{question} {passages[2].text[:40]}"),),
        hits=tuple(Hit(each, 20.0 - rank) for rank, each in enumerate(passages)),
        evidence=Evidence(items),
        answer=Answer(answer, (passages[0].id, passages[1].id)),
        trace={
            "rewriter": {"gate": "heuristic", "reasons": ["pronoun", "short"]},
            "context": {"repeated": 0},
        },
        timings=dict.fromkeys(
            ("rewriter", "retriever", "reranker", "context", "generator"), 0.012345
        ),
        usage={
            "generator": Usage(calls=1, prompt_tokens=1500, completion_tokens=80, cost_usd=0.0012)
        },
        labels={"question_type": ["Factoid", "Explanation"][number % 2]},
        reference=passages[0].text[100:400],
        gold={passages[0].id: 1, "p-missed": 1},
        prompt=(
            Message("system", "Answer from the passages."),
            Message("user", f"{evidence}\n\n{question}"),
        ),
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    records = ManyRecords()
    scores = records.scores()
    summary = RunSummary(
        {"nDCG@5": 0.5, "ROUGE-L": 0.5}, {}, {"overall": TURNS}, TURNS, 0, {}, {}, {}, 1.0
    )
    run = Run(folder, {}, TURNS // 8, TURNS)
    start = time.perf_counter()
    write_run_report(run, summary, records, scores, lambda domain, ids: (), folder)
    seconds = time.perf_counter() - start
    size = (folder / REPORT).stat().st_size
    print(
        f"\n{TURNS:,} turns, {PASSAGES:,} passages: {size / 1e6:.1f} MB, written in {seconds:.1f} s"
    )
    return folder / REPORT


def test_it_stays_within_the_limit(report: Path) -> None:
    assert report.stat().st_size <= LIMIT


def test_it_can_be_used_within_two_seconds(report: Path) -> None:
    with open_browser() as browser:
        page = browser.new_page()
        start = time.perf_counter()
        page.goto(report.as_uri())
        page.locator("body[data-ready]").wait_for()
        page.locator(".turns a").first.wait_for()
        loaded = time.perf_counter() - start
        opened = []
        for place in (0, 20, 40, 60, 80):
            start = time.perf_counter()
            link = page.locator(".turns a").nth(place)
            question = link.locator(".question").inner_text()
            link.click()
            page.locator(f"main h2:has-text({question!r})").wait_for()
            opened.append(time.perf_counter() - start)
        start = time.perf_counter()
        page.locator("input[type=search]").fill("c77<::>3")
        page.get_by_text("1 turn of 10000").wait_for()
        searched = time.perf_counter() - start
        opening = f"a turn opens in {min(opened):.2f} to {max(opened):.2f} s"
        print(f"\nlist after {loaded:.2f} s; {opening}; the first search takes {searched:.2f} s")
        assert loaded < 2


def test_memory_is_that_of_the_file(tmp_path: Path) -> None:
    records = ManyRecords()
    scores = records.scores()
    summary = RunSummary(
        {"nDCG@5": 0.5},
        {},
        {"overall": TURNS},
        TURNS,
        0,
        {},
        {},
        {},
        1.0,
        main_measures=("nDCG@5",),
    )
    tracemalloc.start()
    write_run_report(
        Run(tmp_path, {}, 1, TURNS), summary, records, scores, lambda domain, ids: (), tmp_path
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = (tmp_path / REPORT).stat().st_size
    print(f"\n{peak / 1e6:.0f} MB of memory at most for a file of {size / 1e6:.0f} MB")
    assert peak < 3 * size
