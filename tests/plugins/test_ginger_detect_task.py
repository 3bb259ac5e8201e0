import json
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import DataError, LLMError
from convrag.testing import TaskContract
from convrag_ginger.detect_nuggets import DetectNuggetsTask
from convrag_ginger.sentences_detector import SentencesDetector
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
    for _ in range(2):  # the folder may be there
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
