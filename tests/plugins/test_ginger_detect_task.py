from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import DataError, LLMError
from convrag.testing import TaskContract
from convrag_ginger.sentences_detector import SentencesDetector
from convrag_ginger.task import DetectNuggetsTask
from ginger_toys import KETTLE


class TestTaskContract(TaskContract):
    def make(self) -> DetectNuggetsTask:
        return DetectNuggetsTask(path=Path("queries.jsonl"))


def test_detect_nuggets_writes_jsonl(here: Path) -> None:
    from convrag.config.compose import compose

    passages = [{"id": "a", "text": KETTLE}, {"id": "b", "text": "Tea.", "title": "T"}, {"id": "c", "text": KETTLE}]
    rows = [
        {"turn_id": "t<::>1", "query": "Why does a kettle whistle?", "passages": passages},
        {"turn_id": "t<::>2", "rewritten_query": "Who was Laika?", "contexts": passages, "trace": {}},
    ]
    Path("queries.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    config = compose("detector=sentences", "top_n=2")
    assert DetectNuggetsTask(path=Path("queries.jsonl")).execute(config, here / "out") == 0
    first, second = map(json.loads, (here / "out" / "nuggets.jsonl").read_text().splitlines())
    assert (first["turn_id"], first["query"], first["passages"]) == ("t<::>1", rows[0]["query"], 2)
    (nugget,) = first["nuggets"]
    assert nugget == {"text": KETTLE[:58], "passage_id": "a", "start": 0, "end": 58}
    assert second["nuggets"] == []
    assert not list((here / "out").glob("*.unfinished"))


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '{"turn_id": "1", "query": "q"}',
        '{"query": "q", "passages": []}',
        '{"turn_id": "1", "query": null, "passages": []}',
        '{"turn_id": "1", "query": "q", "passages": "text"}',
        '{"turn_id": "1", "query": "q", "passages": [{"id": 1, "text": null}]}',
    ],
)
def test_a_broken_file_is_named(here: Path, line: str) -> None:
    from convrag.config.compose import compose

    Path("queries.jsonl").write_text('{"turn_id": "1", "query": "q", "passages": []}\n' + line)
    with pytest.raises(DataError, match=r"queries\.jsonl, line 2"):
        DetectNuggetsTask(path=Path("queries.jsonl")).execute(compose("detector=sentences"), here)
    with pytest.raises(DataError, match="nothing_here"):
        DetectNuggetsTask(path=Path("nothing_here")).execute(compose("detector=sentences"), here)


def test_a_file_without_queries_is_a_mistake(here: Path) -> None:
    from convrag.config.compose import compose

    Path("queries.jsonl").write_text("\n")
    with pytest.raises(DataError, match=r"queries\.jsonl: there is no query in it"):
        DetectNuggetsTask(path=Path("queries.jsonl")).execute(compose("detector=sentences"), here)


def test_odd_line_ends_within_a_text_do_not_end_its_line(here: Path) -> None:
    """JSON needs not escape them, and real passages have them."""
    from convrag.config.compose import compose

    text = "A kettle whistles\u2028because of\x85steam. \u2029A kettle is hot."
    row = {"turn_id": "1", "query": "kettle?", "passages": [{"id": "p", "text": text}]}
    Path("queries.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    task = DetectNuggetsTask(path=Path("queries.jsonl"))
    assert task.execute(compose("detector=sentences"), here) == 0
    (line,) = (here / "nuggets.jsonl").read_text(encoding="utf-8").strip().split("\n")
    assert all(text[nugget["start"] : nugget["end"]] == nugget["text"] for nugget in json.loads(line)["nuggets"])
    assert json.loads(line)["nuggets"]


def test_a_detector_that_fails_leaves_no_half_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from convrag.config.compose import compose

    def fail(*_: Any) -> None:
        raise LLMError("down")

    monkeypatch.setattr(SentencesDetector, "detect", fail)
    row = {"turn_id": "1", "query": "q", "passages": [{"id": "p", "text": KETTLE}]}
    Path("queries.jsonl").write_text(json.dumps(row))
    task = DetectNuggetsTask(path=Path("queries.jsonl"), output=here / "out" / "n.jsonl")
    with pytest.raises(LLMError, match="down"):
        task.execute(compose("detector=sentences", "detector.threshold=0.123"), here)  # of which there is none yet
    assert list((here / "out").iterdir()) == []
