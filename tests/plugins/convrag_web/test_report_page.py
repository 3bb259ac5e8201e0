"""report.html in Chromium, opened from disk: lists, filters, links, turns, and two runs beside each
other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from convrag import Answer, Query, Report
from convrag.run.records import to_json
from convrag.score.summary import format_summary
from convrag.store.json_text import format_json
from convrag_web.report.reports import write_comparison_report
from web.browser import find_violations, open_page
from web.report_records import (
    HOSTILE,
    PASSAGES,
    make_hostile_record,
    make_record,
    make_records,
    make_scores,
    make_summary,
    write_report,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("run"))


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The report of seven turns, opened from disk without a network."""
    with open_page(browser, report.as_uri(), offline=True) as opened:
        opened.locator("body[data-ready]").wait_for()
        yield opened


def places(page: Page) -> list[str]:
    """Read the listed turns; not as inner text, which a row that Chromium has not yet laid out has
    not.
    """
    return page.locator(".turns .about > span:first-child").all_text_contents()


def choose(page: Page, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(value)


def test_it_asks_for_nothing_but_itself(browser: Browser, report: Path) -> None:
    asked: list[str] = []
    with open_page(browser, "about:blank", offline=True) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri())
        page.locator(".turns a").first.click()
        page.locator("main article").wait_for()
        assert {
            url.partition("#")[0] for url in asked if not url.startswith(("data:", "blob:"))
        } == {report.as_uri()}


def test_the_worst_turns_come_first(page: Page) -> None:
    assert places(page)[:3] == [
        "turn 2 of c1",
        "turn 1 of c1",
        "turn 3 of c1",
    ]  # the first one failed
    choose(page, "Order", "best")
    assert places(page)[0] == "turn 3 of c2"
    choose(page, "Order", "slow")
    assert places(page)[0] == "turn 4 of c1"
    choose(page, "Order", "order")
    assert places(page) == [f"turn {n} of c1" for n in range(1, 5)] + [
        f"turn {n} of c2" for n in range(1, 4)
    ]
    assert page.locator(".turns .conversation").all_text_contents() == ["c1", "c2"]


def test_filters_leave_the_turns_that_are_asked_for(page: Page) -> None:
    choose(page, "State", "failed")
    assert places(page) == ["turn 2 of c1"]
    choose(page, "State", "fell_back")
    assert places(page) == ["turn 3 of c1"]
    choose(page, "State", "")
    choose(page, "Turn number", "1")
    assert sorted(places(page)) == ["turn 1 of c1", "turn 1 of c2"]
    choose(page, "Turn number", "")
    choose(page, "Label", "question_type=How-To")
    assert sorted(places(page)) == ["turn 2 of c1", "turn 2 of c2", "turn 4 of c1"]


def test_words_are_searched_in_questions_answers_and_queries(page: Page) -> None:
    page.get_by_role("searchbox").fill("NUMBER 3 COMES")  # of an answer
    page.get_by_text("2 turns of 7").wait_for()
    assert sorted(places(page)) == ["turn 3 of c2", "turn 4 of c1"]
    page.get_by_role("searchbox").fill("nowhere")
    page.get_by_text("0 turns of 7").wait_for()


def test_a_turn_shows_all_that_happened(browser: Browser, report: Path) -> None:
    with open_turn(browser, report, "c1<::>4") as page:
        page.locator("article").wait_for()
        text = page.locator(".content").inner_text()
        for expected in (
            "What comes after 3?", "It is 4.", "What number comes after 3?",
            "5 passages retrieved, 1 of 2 relevant ones",
            "3 shown to the model", "✓ relevant", "Missed: relevant, but not retrieved", "430 ms, 1 call, $0.0020",
        ):  # fmt: skip
            assert expected.casefold() in text.casefold(), expected
        page.get_by_text("History that was seen: 3 turns").click()
        assert page.locator(".history .user").all_inner_texts() == [
            f"What comes after {n}?" for n in range(3)
        ]
        page.get_by_text("Prompt: 2 messages").click()
        assert PASSAGES[3].content in page.locator(".prompt pre").nth(1).inner_text()
        page.get_by_text("Why this query").click()
        assert "pronoun" in page.locator(".queries + .fold").inner_text()
        page.get_by_text("Counts behind scores: 1").click()
        assert page.get_by_text("BLEU_total_1").is_visible()
        assert "missed, rank 1,040" in page.locator(".missed summary").inner_text()
        assert (
            "Missed by generation. 1 of 2 relevant passages retrieved; the retrieved passages have 100 %"
            in text
        )
        page.locator(".missed summary").click()
        assert page.locator(".missed .passage-text").inner_text() == PASSAGES[11].text


def test_a_citation_opens_its_passage_with_the_sentence_marked(
    browser: Browser, report: Path
) -> None:
    with open_turn(browser, report, "c1<::>4") as page:
        page.get_by_role("button", name="Passage 2: No 4").click()
        passage = page.locator(".passage[open]")
        assert passage.locator(".title").inner_text() == "No 4"
        assert passage.locator("mark.cited").all_inner_texts() == [
            "It also says that snow is white."
        ]
        assert page.evaluate("document.activeElement.closest('details').open")


def test_citations_go_by_the_numbers_of_the_conversation(browser: Browser, tmp_path: Path) -> None:
    """generator=chat: the numbers go on from turn to turn, and an answer may cite a passage of an
    earlier turn.
    """
    numbers = {"generator": {"numbers": {"p6": 4, "p7": 5, "p8": 6, "p0": 1}}}
    answer = Answer(
        "The number 7 comes after 6. [5] The number 0 comes after -1. [1]", ("p7", "p0")
    )
    later = make_record("c1", 2, 6, answer=answer, trace=numbers)
    path = write_report(tmp_path, [make_record("c1", 1, 0), later])
    with open_turn(browser, path, "c1<::>2") as page:
        page.get_by_role("button", name="Passage 5: No 7").click()
        assert page.locator(".passage[open] .title").inner_text() == "No 7"
        page.get_by_role("button", name="Passage 1: No 0").click()
        assert page.locator(".passage[open] .title").all_inner_texts() == ["No 7", "No 0"]
        assert page.get_by_text("Cited, but shown in an earlier turn only").is_visible()


def test_the_keyboard_goes_from_turn_to_turn(browser: Browser, report: Path) -> None:
    with open_turn(browser, report, "c1<::>1") as page:
        page.get_by_text("2 of 7 in the list").wait_for()
        page.keyboard.press("j")
        page.get_by_text("3 of 7 in the list").wait_for()
        page.keyboard.press("k")
        page.get_by_text("2 of 7 in the list").wait_for()
        page.get_by_role("searchbox").focus()
        page.keyboard.type("j")
        assert page.get_by_role("searchbox").input_value() == "j"


@pytest.mark.parametrize("turn", [f"turn {HOSTILE}", ""])
def test_hostile_text_is_text_wherever_it_stands(
    tmp_path: Path, browser: Browser, turn: str
) -> None:
    path = write_report(
        tmp_path,
        [make_hostile_record()],
        config={"history": HOSTILE, "rewriter": {"_option_": HOSTILE}},
    )
    dialogs: list[str] = []
    with open_page(
        browser, f"{path.as_uri()}#{f'turn={quote(turn)}' if turn else ''}", offline=True
    ) as page:
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page.locator("main .turn").first.wait_for()
        page.evaluate(
            "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
        )
        assert "seized" not in page.title()
        assert page.locator("img").count() == 0
        assert page.locator("[onerror]").count() == 0
        assert page.locator("a[href^=javascript]").count() == 0
        text = page.locator("body").inner_text()
        fields = [
            "question",
            "query",
            "answer",
            "shown",
            "fallback",
            "error",
            "reference",
            "missed",
            "prompt",
        ]
        for field in fields if turn else ["question"]:
            assert f"{field} {HOSTILE[:60]}".casefold() in text.casefold(), field
    assert dialogs == []


@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (400, "dark")])
def test_axe_finds_nothing_and_nothing_is_cut_off(
    browser: Browser, report: Path, width: int, scheme: Any
) -> None:
    for hash_ in ("", "#view=list", f"#turn={quote('c1<::>4')}", f"#turn={quote('c1<::>2')}"):
        with open_page(
            browser, report.as_uri() + hash_, width=width, color_scheme=scheme, offline=True
        ) as page:
            page.locator("body[data-ready]").wait_for()
            if "turn" in hash_:
                page.evaluate(
                    "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
                )
            assert find_violations(page) == [], hash_
            assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of two runs: in the second one, the last turn of c2 went better."""
    folder = tmp_path_factory.mktemp("comparison")
    one = make_records()
    last = replace(
        one[-1],
        queries=(Query("Another query"),),
        hits=(
            one[-1].hits[1],
            one[-1].hits[0],
            *one[-1].hits[2:4],
            replace(one[-1].hits[4], passage=PASSAGES[11]),
        ),
        answer=Answer(one[-1].answer.text.replace("white", "cold"), one[-1].answer.citations),
    )
    scores = make_scores(one)
    better = {**scores, last.turn_id: {**scores[last.turn_id], "nDCG@5": 0.25}}
    for name, records, values in (("a", one, scores), ("b", [*one[:-1], last], better)):
        run = folder / name
        (run / "intermediate").mkdir(parents=True)
        (run / "intermediate/default.jsonl").write_text(
            "".join(f"{to_json(record)}\n" for record in records)
        )
        (run / "metrics.json").write_text(format_summary(make_summary(records)))
        (run / "scores.jsonl").write_text(
            "".join(
                f"{format_json({'turn_id': turn, 'scores': own})}\n" for turn, own in values.items()
            )
        )
    (folder / "a/report.html").write_text("")
    write_comparison_report(make_leaderboard(), {"a": folder / "a", "b": folder / "b"}, folder)
    return folder / "report.html"


def make_leaderboard() -> Report:
    metrics = ["nDCG@5", "ROUGE-L", "evidence_nDCG"]

    def row(name: str, mean: float, difference: str) -> dict[str, Any]:
        score = {"mean": mean, "low": 0.123, "high": 0.456, "difference": difference, "p": "0.1234"}
        compared = dict.fromkeys(metrics, score)
        return {
            "name": name,
            "levels": [name],
            "state": "ok",
            "label": "ok",
            "compared": compared,
            "scores": {},
        }

    numbers = {
        "metrics": metrics,
        "factors": ["rewriter"],
        "measures": metrics,
        "baseline": "rewriter=b",
    }
    rows = [row("a", 0.5, "+0.1"), row("b", 0.4, "baseline"), row("gone", float("nan"), "")]
    return Report("leaderboard", ("A remark.",), {**numbers, "rows": rows})


def test_a_comparison_begins_with_its_leaderboard(browser: Browser, comparison: Path) -> None:
    with open_page(browser, comparison.as_uri(), offline=True) as page:
        page.locator("body[data-ready]").wait_for()
        board = page.get_by_role("table", name="Leaderboard")
        runs = board.locator("tbody th")
        assert runs.all_inner_texts() == ["a", "b", "gone"]
        assert board.locator("a").evaluate_all(
            "links => links.map((a) => a.getAttribute('href'))"
        ) == ["a/report.html"]
        assert page.locator(".scrolls").first.evaluate(
            "each => each.scrollWidth <= each.clientWidth"
        )  # at 1280
        for head, order in (
            ("nDCG@5", ["a", "b", "gone"]), ("nDCG@5", ["b", "a", "gone"]), ("rewriter", ["a", "b", "gone"]),
            ("rewriter", ["gone", "b", "a"]), ("difference", ["a", "b", "gone"]),
        ):  # fmt: skip
            board.get_by_role("button", name=head).first.click()
            assert runs.all_inner_texts() == order, head
        assert board.locator("th[aria-sort=descending]").first.inner_text().startswith("difference")
        assert page.get_by_text("A remark.").is_visible()
        assert find_violations(page) == []
        missed = (
            page.get_by_role("table", name="Retrieval or generation?").locator("tbody tr").first
        )
        # One failed, and one says what is wanted.
        assert missed.locator("td").all_inner_texts() == ["7", "0", "5"]
        missed.get_by_role("link").last.click()
        page.get_by_text("5 turns of 7").wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_plots_follow_the_dark_mode(browser: Browser, tmp_path: Path, width: int) -> None:
    from PIL import Image

    (tmp_path / "a").mkdir()
    Image.new("RGB", (600, 600), "white").save(tmp_path / "heat_nDCG@5.png")
    write_comparison_report(make_leaderboard(), {}, tmp_path)
    for scheme, dark in (("light", False), ("dark", True)):
        address = (tmp_path / "report.html").as_uri()
        with open_page(browser, address, width=width, offline=True, color_scheme=scheme) as page:
            plot = page.locator(".plots img")
            plot.scroll_into_view_if_needed()
            plot.evaluate("image => image.decode()")
            picture = Image.open(BytesIO(plot.screenshot())).convert("L")
            assert (picture.getpixel((picture.width // 2, picture.height // 2)) < 50) is dark


def test_two_runs_stand_beside_each_other_with_what_changed(
    browser: Browser, comparison: Path
) -> None:
    with open_page(browser, comparison.as_uri(), width=1500, offline=True) as page:
        page.locator("body[data-ready]").wait_for()
        assert (
            page.get_by_label("Run", exact=True).locator("option:checked").inner_text()
            == "rewriter=b"
        )
        page.locator(".turns a").first.click()
        page.locator(".pair").wait_for()
        assert page.locator("main h2").first.inner_text() == "What comes after 3?"
        summary = page.locator(".summary").inner_text()
        for expected in (
            "Other queries.",
            "1 entered, 1 left, 2 moved",
            "Another answer.",
            "+0.750",
        ):
            assert expected in summary
        left, right = page.locator(".pair > div").all()
        assert left.locator(".answer mark.changed").all_inner_texts() == ["cold"]
        assert right.locator(".answer mark.changed").all_inner_texts() == ["white"]
        assert left.locator(".queries mark.changed").all_inner_texts() == ["Another query"]
        chips = right.locator(".passage .chip.changed").all_inner_texts()
        assert sorted(chips) == ["new", "was 1", "was 2"]
        assert find_violations(page) == []


def test_another_report_can_be_opened_for_a_comparison(
    browser: Browser, tmp_path: Path, page: Page
) -> None:
    records = make_records()
    records[0] = replace(records[0], answer=Answer("Something else. [1]", ("p0",)))
    other = write_report(tmp_path, records)
    page.locator("input[type=file]").set_input_files(other)
    page.get_by_label("Run beside it").wait_for()
    choose(page, "Order", "order")
    page.locator(".turns a").first.click()
    page.locator(".pair").wait_for()
    assert "Another answer." in page.locator(".summary").inner_text()
    assert page.locator(".run-name").count() == 2


def test_a_file_that_is_no_report_is_said_to_be_none(tmp_path: Path, page: Page) -> None:
    (tmp_path / "other.html").write_text("<p>hello</p>")
    page.locator("input[type=file]").set_input_files(tmp_path / "other.html")
    page.get_by_text("This file is no report.html of convrag.").wait_for()


def open_turn(browser: Browser, report: Path, turn: str) -> Any:
    return open_page(browser, f"{report.as_uri()}#turn={quote(turn)}", offline=True)
