"""Feedback over HTTP and by the thumbs of the page: ratings, qrels and a data set, with a run over
it.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag_judging.rating_files import read_ratings
from served import serve
from web.chat_page import ChatPage


def test_feedback_becomes_ratings_qrels_and_a_data_set(tmp_path: Path) -> None:
    with serve(tmp_path, "rewriter=none", "generator=direct", "llm=extractive") as server:
        http = server.http
        place = f"/api/conversations/{http.post('/api/conversations', json={}).json()['id']}/turns"
        for question in ("How far is the Moon?", "What is lunar dust made of?"):
            http.post(place, json={"question": question})
        cited, found = (
            {hit["id"] for hit in http.get(f"{place}/{n}").json()["contexts"]} for n in (1, 2)
        )
        wrong = sorted(found)[:2]
        said: dict[str, Any] = {
            "helpful": False,
            "answer": "Of rock.",
            "wrong": wrong,
            "annotator": "anna",
        }
        for number, row in (
            (1, {"helpful": False}),
            (1, {"helpful": True}),
            (2, {"helpful": False}),
            (2, said),
        ):
            assert http.post(f"{place}/{number}/feedback", json=row).status_code == 204
        assert http.post(f"{place}/9/feedback", json={"helpful": True}).status_code == 404
        refused = http.post(f"{place}/1/feedback", json={"helpful": True, "wrong": ["nowhere"]})
        assert (refused.status_code, "no passage 'nowhere'" in refused.text) == (422, True), (
            refused.text
        )
        kept = http.get(place.removesuffix("/turns")).json()
        assert kept["helpful"] == {
            kept["records"][0]["turn_id"]: True,
            kept["records"][1]["turn_id"]: False,
        }
        for form in ("ratings", "qrels", "conversations"):
            (tmp_path / f"{form}.jsonl").write_text(
                http.get(f"/api/feedback?form={form}").text, encoding="utf-8"
            )
    ratings = read_ratings([tmp_path / "ratings.jsonl"])
    assert [(each.annotator, each.score) for each in ratings] == [
        ("user", 1),
        ("user", 0),
        ("anna", 0),
    ]
    qrels = [
        line.split("\t")[1:] for line in (tmp_path / "qrels.jsonl").read_text().splitlines()[1:]
    ]
    assert {passage for passage, grade in qrels if grade == "1"} <= cited
    assert [passage for passage, grade in qrels if grade == "0"] == wrong
    corpus = files("convrag_datasets").joinpath("sample/corpus.jsonl")
    paths = [f"dataset.{name}={tmp_path / name}.jsonl" for name in ("conversations", "qrels")]
    chosen = compose(
        "dataset=jsonl",
        *paths,
        f"dataset.corpus={corpus}",
        "generator=none",
        f"store.path={tmp_path / 's'}",
    )
    run_experiment(chosen, tmp_path / "run")
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["overall"]["nDCG@5"] > 0


@pytest.mark.slow
def test_thumbs(chat: ChatPage) -> None:
    chat.ask("How far is the Moon?")
    up = chat.last.get_by_role("button", name="Helpful", exact=True)
    up.click()
    chat.last.locator("button[aria-label='Helpful'][aria-pressed=true]").wait_for()
    chat.last.get_by_role("button", name="Not helpful").click()
    dialog = chat.page.get_by_role("dialog")
    dialog.get_by_label("What it should have been").fill("384,400 km")
    dialog.get_by_role("checkbox").first.check()
    dialog.get_by_role("button", name="Send").click()
    chat.last.locator("button[aria-label='Not helpful'][aria-pressed=true]").wait_for()
    said = chat.page.request.get(
        f"{chat.page.url.partition('#')[0].rstrip('/')}/api/feedback?form=conversations"
    )
    assert '"answer": "384,400 km"' in said.text()
    chat.page.reload()
    chat.last.locator("button[aria-label='Not helpful'][aria-pressed=true]").wait_for()
    chat.last.get_by_role("button", name="Regenerate").click()
    chat.last.locator("button[aria-label='Not helpful'][aria-pressed=false]").wait_for()
