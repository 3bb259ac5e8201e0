"""Marks for turns in report.html: thumbs, comments, files for task=agreement, two annotators,
blind.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from convrag_judging.rating_files import read_ratings
from web.browser import find_violations, open_page
from web.report_records import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


def mark(page: Page, name: str, comment: str = "") -> None:
    page.locator(".marks").get_by_role("button", name=name, exact=True).click()
    if comment:
        page.get_by_label("Comment").fill(comment)
        page.get_by_label("Comment").blur()


def download(page: Page, folder: Path) -> Path:
    with page.expect_download() as started:
        page.get_by_role("button", name="Download my marks").click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


@pytest.mark.parametrize("width", [1280, 390])
def test_two_annotators_mark_a_run_blind_and_their_files_are_ratings(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    report = write_report(tmp_path).as_uri()
    with open_page(browser, f"{report}#turn=c1%3C%3A%3A%3E1", width=width, offline=True) as page:
        page.locator(".marks summary").click()
        mark(page, "✓ Helpful")
        page.get_by_text("Say your name first").wait_for()
        page.get_by_label("Your name").fill("Anna B.")
        mark(page, "✓ Helpful")
        page.get_by_text("1 of 7 turns marked").wait_for()
        page.reload()
        page.locator(".marks [aria-pressed=true]", has_text="✓").wait_for()
        mark(page, "✗ Not helpful", "Too long.\nAnd wrong.")
        page.keyboard.press("j")
        mark(page, "✓ Helpful")
        anna = download(page, tmp_path)
    said = [
        (each.annotator, each.turn_id, each.score, each.reason) for each in read_ratings([anna])
    ]
    assert ("Anna B.", "c1<::>1", 0, "Too long.\nAnd wrong.") in said
    assert (anna.name, len(said)) == ("Anna-B-.jsonl", 2)
    with open_page(browser, f"{report}#turn=c1%3C%3A%3A%3E1", width=width, offline=True) as page:
        page.locator(".marks summary").click()
        page.get_by_label("Your name").fill("ben")
        page.get_by_label("Blind").check()
        page.get_by_label("Load marks").set_input_files(anna)
        page.get_by_text("2 marks of Anna B. loaded.").wait_for()
        assert page.locator(".other-mark").inner_text().endswith("hidden until you have")
        mark(page, "✓ Helpful")
        assert "Too long.\nAnd wrong." in page.locator(".other-mark").inner_text()
        assert find_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator(".marks").screenshot(path=tmp_path / "marks.png")
        ben = download(page, tmp_path)
        assert [(each.annotator, each.score) for each in read_ratings([ben])] == [("ben", 1)], (
            "own marks alone"
        )
        for text, told in (
            ("{", "line 2: this is no JSON"),
            ('{"score": 3}', "line 2: this is no mark"),
            (
                '{"turn_id": "x", "criterion": "helpful", "score": 1}',
                'line 2: this run has no turn "x"',
            ),
        ):
            (tmp_path / "bad.jsonl").write_text(f"\n{text}\n", encoding="utf-8")
            page.get_by_label("Load marks").set_input_files(tmp_path / "bad.jsonl")
            page.get_by_text(f"bad.jsonl, {told}").wait_for()
