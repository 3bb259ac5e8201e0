"""Which finished runs stand for the same run asked for again, and what a run tells of how it ended."""

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig

from convrag import ConfigError, Run, RunSummary
from convrag.config.compose import compose
from convrag.run.manifest import MANIFEST, compute_identity, read_finished_summary
from convrag.run.runner import evaluate_records, run_experiment
from convrag.score.summary import format_summary
from convrag.store.folders import describe_files


@pytest.mark.parametrize(
    ("fields", "fingerprint", "reused"),
    [
        ({}, "a", True),
        ({"fallbacks": {"rewriter": 1}}, "a", True),
        ({"failed": 1}, "a", False),  # the server may be healthy again
        ({"stopped": "the cost limit is reached"}, "a", False),
        ({"fallbacks": {"rewriter": 2}, "always_fell_back": ("rewriter",)}, "a", False),
        ({"failed_metrics": {"judge": "2 of its 2 calls failed"}}, "a", False),
        ({}, "b", False),
    ],
)
def test_only_a_whole_run_is_reused(
    fields: dict[str, Any], fingerprint: str, reused: bool, tmp_path: Path
) -> None:
    run = Run(tmp_path, {"top_k": 3}, 1, 2, fingerprints={"rewriter": "a"})
    given = {"failed": 0, "fallbacks": {}, **fields}
    summary = RunSummary(
        {"nDCG@5": 0.5}, {}, {"overall": 2}, 2, usage={}, timings={}, seconds=1.0, **given
    )
    (tmp_path / "metrics.json").write_text(format_summary(summary))
    (tmp_path / MANIFEST).write_text(json.dumps({"identity": compute_identity(run), "files": {}}))
    same = Run(tmp_path, {"top_k": 3}, 1, 2, fingerprints={"rewriter": fingerprint})
    assert (read_finished_summary(same) is not None) == reused


def configure(*overrides: str) -> DictConfig:
    return compose(
        "limit=1", "generator=none", "tracker=none", "metrics.ranking.measures=[nDCG@5]", *overrides
    )


def test_a_run_that_ended_while_its_files_took_their_places_is_no_finished_one(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores of one run beside metrics of another would be reused for good."""
    folder = here / "cell"
    run_experiment(configure(), folder, reuse=True)
    replace = Path.replace

    def end_at_scores(path: Path, target: Path) -> Path:
        if path.name == "scores.jsonl":
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", end_at_scores)
        with pytest.raises(KeyboardInterrupt):
            run_experiment(configure(), folder)
    assert (folder / "metrics.json").exists()
    run, _ = run_experiment(configure(), folder, reuse=True)
    assert not run.reused


def finish(folder: Path) -> Run:
    """A finished run, as the runner leaves it."""
    run = Run(folder, {"top_k": 3}, 1, 2, fingerprints={"rewriter": "a"})
    summary = RunSummary({"nDCG@5": 0.5}, {}, {"overall": 2}, 2, 0, {}, {}, {}, 1.0)
    (folder / "intermediate").mkdir(parents=True)
    (folder / "intermediate" / "default.jsonl").write_text("{}\n" * 100)
    (folder / "metrics.json").write_text(format_summary(summary))
    manifest = {"identity": compute_identity(run), "files": describe_files(folder)}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return run


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-40] ^= 1  # within the numbers: it is JSON all the same
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda folder: flip(folder / "metrics.json"), "metrics.json is damaged"),
        (lambda folder: (folder / "metrics.json").write_text("["), "metrics.json is damaged"),
        (lambda folder: (folder / "metrics.json").unlink(), "metrics.json is missing"),
        (
            lambda folder: flip(folder / "intermediate" / "default.jsonl"),
            "default.jsonl is damaged",
        ),
        (lambda folder: (folder / MANIFEST).write_text("{"), "run.json is damaged"),
        (lambda folder: (folder / MANIFEST).write_text("[]"), "run.json is damaged"),
    ],
)
def test_a_run_whose_files_are_damaged_is_run_again(
    harm: Callable[[Path], object], words: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = finish(tmp_path)
    assert read_finished_summary(run) is not None
    assert not caplog.messages
    harm(tmp_path)
    assert read_finished_summary(run) is None
    (message,) = caplog.messages
    assert str(tmp_path) in message
    assert words in message
    assert message.endswith("this experiment is run again")


@pytest.mark.parametrize(("overrides", "told"), [((), False), (("metrics=[answers]",), True)])
def test_an_answer_that_nobody_asked_for_is_not_missed(
    overrides: tuple[str, ...], told: bool, here: Path
) -> None:
    config = compose("limit=1", "generator=none", "tracker=none", *overrides)
    _, summary = run_experiment(config, here / "run")
    assert ("metrics.answers" in summary.reports) == told
    assert "ROUGE-L" not in summary.overall
    assert summary.main_measures == (() if told else ("nDCG@5", "evidence_nDCG"))


def write_unjudged(folder: Path, *, turns: bool = True) -> list[str]:
    """The bundled sample without judgements and reference answers, as overrides; maybe without
    conversations.
    """
    sample = Path(str(resources.files("convrag_datasets").joinpath("sample")))
    corpus = [f"dataset.corpus={sample / 'corpus.jsonl'}"]
    if not turns:
        return ["dataset=jsonl", *corpus]
    rows = map(
        json.loads, (sample / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    )
    bare = [
        {**row, "turns": [{"question": turn["question"]} for turn in row["turns"]]} for row in rows
    ]
    (folder / "bare.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in bare), encoding="utf-8"
    )
    return ["dataset=jsonl", "dataset.conversations=bare.jsonl", *corpus]


def test_a_run_without_judgements_measures_what_it_can_and_says_what_it_cannot(here: Path) -> None:
    config = compose("limit=2", "tracker=none", "generator.refuse=0", *write_unjudged(here))
    _, summary = run_experiment(config, here / "run")
    assert summary.main_measures == ("grounded_sentences", "evidence_passages")
    assert summary.overall["answered"] == 1.0
    page = (here / "run/summary.md").read_text()
    assert (
        "nDCG@5 is not measured (metrics.ranking): the data set has no relevance judgements; task=questions"
        in page
    )
    assert (
        "ROUGE-L is not measured (metrics.answers): the data set has no reference answers." in page
    )


def test_an_evaluation_is_logged_with_the_stages_that_it_uses(here: Path) -> None:
    run, _ = evaluate_records(configure(), here / "measured", [])
    assert {"dataset", "metrics", "top_k"} <= run.config.keys()
    assert not {"rewriter", "generator"} & run.config.keys()


def test_a_data_set_without_conversations_names_the_tasks_that_need_none(here: Path) -> None:
    config = compose("tracker=none", *write_unjudged(here, turns=False))
    with pytest.raises(
        ConfigError, match=r"no conversations to run: .*task=chat or task=serve.*task=questions"
    ):
        run_experiment(config, here / "run")
