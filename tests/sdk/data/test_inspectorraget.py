"""Files of InspectorRAGet: answers of several models, with marks of people and of algorithms."""

import json
from pathlib import Path
from typing import Any

import pytest

from convrag import DataError
from convrag.sdk.data.inspectorraget import read_marked_answers


def write(folder: Path, **changes: Any) -> Path:
    file: dict[str, Any] = {
        "metrics": [
            {
                "name": "fit",
                "author": "human",
                "type": "categorical",
                "values": [{"value": "No", "numeric_value": 1}],
            },
            {"name": "note", "author": "algorithm", "type": "text"},
        ],
        "documents": [{"document_id": "d", "text": "Tea is hot.", "title": "Tea"}],
        "tasks": [{"task_id": "c<::>1", "contexts": [{"document_id": "d"}]}],
        "evaluations": [
            {
                "task_id": "c<::>1",
                "model_id": "m",
                "model_response": "Hot.",
                "annotations": {
                    "fit": {"Ada": {"value": "No"}, "Bo": {"value": "3"}},
                    "RougeL": {"system": {"value": 0.5}},
                    "note": {"system": {"value": "long"}},
                },
            }
        ],
    }
    path = folder / "marks.json"
    path.write_text(json.dumps(file | changes), encoding="utf-8")
    return path


def test_an_answer_with_its_passages_and_marks(tmp_path: Path) -> None:
    (answer,) = read_marked_answers(write(tmp_path))
    assert (answer.turn_id, answer.model, answer.text) == ("c<::>1", "m", "Hot.")
    assert [(passage.id, passage.text, passage.title) for passage in answer.passages] == [
        ("d", "Tea is hot.", "Tea")
    ]
    assert answer.marks["human"] == {"fit": {"Ada": 1.0, "Bo": 3.0}}
    assert answer.marks["algorithm"] == {"RougeL": {"system": 0.5}, "note": {}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": None}, "marks.json: this is not a file of InspectorRAGet: tasks"),
        ({"evaluations": [{"task_id": "a", "model_id": "m"}]}, r"evaluations\.0\.model_response"),
        (
            {
                "evaluations": [
                    {
                        "task_id": "a",
                        "model_id": "m",
                        "model_response": "",
                        "annotations": {"fit": {"A": {"value": "Yes"}}},
                    }
                ]
            },
            r"evaluations\.0\.annotations\.fit is 'Yes', which is no number and none of its labels: No",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_marked_answers(write(tmp_path, **changes)))
