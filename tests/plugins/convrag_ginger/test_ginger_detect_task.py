"""`task=detect_nuggets`, and the stages that read its file."""

import json
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConfigError, DataError, LLMError
from convrag.api.passages import Nugget, Passage
from convrag.config.compose import compose
from convrag.testing import DetectorContract, TaskContract
from convrag_ginger.detect_nuggets_task import DetectNuggetsTask
from convrag_ginger.llm_detector import Untagged
from convrag_ginger.replay_detector import ReplayDetector
from convrag_ginger.sentences_detector import SentencesDetector
from convrag_judging.nugget_files import read_nuggets
from ginger_toys import KETTLE, TEA
from tasks import run_task

WHY = "Why does a kettle whistle?"
PASSAGES = [
    {"id": "a", "text": KETTLE},
    {"id": "b", "text": "Tea.", "title": "T"},
    {"id": "c", "text": KETTLE},
]


class TestTaskContract(TaskContract):
    overrides = ("detector=sentences",)

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.path = tmp_path / "queries.jsonl"
        write(self.path, {"turn_id": "1", "query": WHY, "passages": PASSAGES})

    def make(self) -> DetectNuggetsTask:
        return DetectNuggetsTask(path=self.path)


class TestReplayContract(DetectorContract):
    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        """Nuggets of the contract's first query and passage."""
        self.path = tmp_path / "nuggets.jsonl"
        query = "kettle? Why does a kettle whistle?"
        write(self.path, {"turn_id": "1", "query": query, "passages": ["tea-2"], "nuggets": []})

    def make(self) -> ReplayDetector:
        return ReplayDetector(path=self.path)


def write(path: Path, *rows: Any) -> None:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def execute(folder: Path, *overrides: str, output: Path | None = None) -> int:
    task = DetectNuggetsTask(path=Path("queries.jsonl"), output=output)
    return task.execute(compose("detector=sentences", *overrides), folder)


def test_the_nuggets_of_the_first_passages_are_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"turn_id": "t<::>1", "query": WHY, "passages": PASSAGES},
        {"turn_id": "t<::>2", "rewritten_query": "Who was Laika?", "contexts": PASSAGES},
    ]
    write(Path("queries.jsonl"), *rows, "")
    for _ in range(2):  # the folder may be there
        assert execute(here / "out", "top_n=2") == 0
    first, second = read(here / "out" / "nuggets.jsonl")
    nugget = {"text": KETTLE[:58], "passage_id": "a", "start": 0, "end": 58}
    assert first == {
        "turn_id": "t<::>1",
        "query": WHY,
        "passages": ["a", "b"],
        "nuggets": [nugget],
    }
    assert second["nuggets"] == []
    assert not list((here / "out").glob("*.unfinished"))
    said = capsys.readouterr().out
    assert "1 nugget in 4 passages of 2 queries, 1 of them without a nugget." in said
    assert f"Written: {here / 'out' / 'nuggets.jsonl'}" in said


def test_sentences_replace_the_nuggets_of_a_model_without_tags(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from convrag_ginger.llm_detector import LlmDetector

    def ignore_the_format(*_: Any) -> None:
        raise Untagged("the reply has no tags")

    monkeypatch.setattr(LlmDetector, "detect", ignore_the_format)
    write(Path("queries.jsonl"), {"turn_id": "1", "query": WHY, "passages": PASSAGES})
    assert execute(here / "out", "detector=llm") == 0
    assert [len(row["nuggets"]) for row in read(here / "out" / "nuggets.jsonl")] == [2]
    assert "3 replies had no tags" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("no json", "this is not JSON"),
        ("[]", "this must be a JSON object"),
        ('{"turn_id": "1", "query": "q"}', "this is not a query with its passages"),
        ('{"query": "q", "passages": []}', "this is not a query with its passages"),
        ('{"turn_id": "2", "query": null, "passages": []}', "query"),
        ('{"turn_id": "2", "query": " ", "passages": []}', "the query is empty"),
        ('{"turn_id": "2", "query": "q", "passages": "text"}', "passages"),
        ('{"turn_id": "2", "query": "q", "passages": [{"id": 1, "text": null}]}', "text"),
        ('{"turn_id": 1, "query": "q", "passages": []}', "'1' is in an earlier line"),
    ],
)
def test_a_broken_line_is_named(here: Path, line: str, fault: str) -> None:
    write(Path("queries.jsonl"), {"turn_id": "1", "query": "q", "passages": []}, line)
    with pytest.raises(DataError, match=r"queries\.jsonl, line 2") as caught:
        execute(here / "out")
    assert fault in str(caught.value)
    assert not (here / "out").exists()


def test_a_file_without_queries_is_named(here: Path) -> None:
    with pytest.raises(DataError, match=r"queries\.jsonl"):
        execute(here)
    write(Path("queries.jsonl"), "")
    with pytest.raises(DataError, match="there is no query in it"):
        execute(here)


def test_a_detector_that_fails_leaves_no_half_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise LLMError("down")

    monkeypatch.setattr(SentencesDetector, "detect", fail)
    write(Path("queries.jsonl"), {"turn_id": "1", "query": "q", "passages": PASSAGES[:1]})
    with pytest.raises(LLMError, match="down"):
        # A parameter of its own, lest an earlier detector with a result is found
        execute(here, "detector.threshold=0.123", output=here / "out" / "n.jsonl")
    assert list((here / "out").iterdir()) == []


def test_an_output_that_cannot_be_written_is_named(here: Path) -> None:
    write(Path("queries.jsonl"), {"turn_id": "1", "query": WHY, "passages": PASSAGES})
    with pytest.raises(ConfigError, match=r"task\.output=.* is a folder: name a file"):
        execute(here, output=here)
    (here / "file").write_text("")
    with pytest.raises(ConfigError, match=r"task\.output=.* cannot be written: "):
        execute(here, output=here / "file" / "nuggets.jsonl")


# Its file
# ----------------------------------------------------------------------------------------------


def test_a_run_replays_the_nuggets_of_another(tmp_path: Path) -> None:
    """The answers are those of the run whose passages were given, and nothing is detected."""
    run = ["tracker=none", "report=false", "limit=1", "generator.refuse=0", "rewriter=none"]
    first = run_task([*run, "detector=sentences", "hydra.run.dir=first"], tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    detected = ["task=detect_nuggets", "task.path=first/intermediate", "task.output=nuggets.jsonl"]
    assert run_task([*detected, "detector=sentences"], tmp_path).returncode == 0
    replay = ["detector=replay", "detector.path=nuggets.jsonl", "hydra.run.dir=second"]
    second = run_task([*run, *replay], tmp_path)
    assert (second.returncode, second.stderr) == (0, "")
    assert "The nuggets are replayed from nuggets.jsonl; this run detected none." in second.stdout
    before, after = (
        read(tmp_path / name / "intermediate/default.jsonl") for name in ("first", "second")
    )
    for one, other in zip(before, after, strict=True):
        assert other["agent_response"] == one["agent_response"]
        traces = [row["trace"]["generator"]["nuggets"] for row in (one, other)]
        assert traces[0] == traces[1] != []


def test_metrics_read_the_nuggets(tmp_path: Path) -> None:
    path = tmp_path / "nuggets.jsonl"
    nugget = {"text": "Ann drinks tea.", "passage_id": "a", "start": 0, "end": 15}
    row = {"turn_id": "1", "query": "q", "passages": ["a"], "nuggets": [nugget]}
    write(path, row, {**row, "turn_id": "2", "nuggets": []})
    sets = read_nuggets(path)
    assert sets["1"].texts == ("Ann drinks tea.",)
    assert sets["2"].texts == ()


def test_nuggets_are_looked_up_by_query_and_passage(tmp_path: Path) -> None:
    path = tmp_path / "nuggets.jsonl"
    nugget = {"text": "Ann drinks", "passage_id": "a", "start": 0, "end": 10}
    row = {"turn_id": "1", "query": "q", "passages": ["a", "b"], "nuggets": [nugget]}
    write(path, row)
    detector = ReplayDetector(path=path)
    assert list(detector.check()) == []
    assert detector.detect("q", Passage("a", TEA)) == [Nugget("Ann drinks", "a", 0, 10)]
    assert detector.detect("q", Passage("b", TEA)) == []
    with pytest.raises(DataError, match="no nuggets of passage 'c' for the query 'q'"):
        detector.detect("q", Passage("c", TEA))
    with pytest.raises(DataError, match="no nuggets of passage 'a' for the query 'other'"):
        detector.detect("other", Passage("a", TEA))
    with pytest.raises(DataError, match="passage 'a' has another text"):
        detector.detect("q", Passage("a", KETTLE))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("no json", "this is not JSON"),
        ('{"turn_id": "1", "nuggets": ["a fact"]}', "this is not a line of task=detect_nuggets"),
        (
            '{"query": "q", "passages": [], "nuggets": '
            '[{"text": "t", "passage_id": "x", "start": 0, "end": 1}]}',
            "a nugget is from passage 'x'",
        ),
        ("", "there are no nuggets in it"),
    ],
)
def test_a_file_of_other_content_is_named(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "nuggets.jsonl"
    write(path, line)
    (problem,) = ReplayDetector(path=path).check()
    assert str(path) in problem
    assert fault in problem


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run_task(
        ["limit=1", "tracker=none", "detector=replay", "detector.path=no.jsonl"], tmp_path
    )
    assert done.returncode == 2
    assert "no.jsonl" in done.stderr
