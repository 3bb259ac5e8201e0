"""task=doctor finds what is wrong, says what to do, and changes nothing."""

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import toys
from commands import drop_progress, run_convrag
from convrag.api.errors import PluginError
from convrag.config.compose import compose
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.store.store import Store
from convrag.testing import TaskContract
from convrag_kit.doctor import DoctorTask, examine

PLAIN = ("generator=none", "tracker=none")


class TestContract(TaskContract):
    overrides = PLAIN

    def make(self) -> DoctorTask:
        return DoctorTask()


def findings(*overrides: str) -> dict[str, list[tuple[str, str]]]:
    """Title of a part -> level and line of each finding."""
    config = compose(*PLAIN, *overrides)
    return {
        title: [(f.level, f"{f.subject}: {f.message}") for f in found]
        for title, found in examine(config)
    }


def failures(*overrides: str) -> list[str]:
    return [
        line for part in findings(*overrides).values() for level, line in part if level == "fail"
    ]


def everything_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


@pytest.mark.slow
def test_all_is_well_and_nothing_is_changed(here: Path) -> None:
    done = run_convrag(["task=doctor", "retriever=dense", "tracker=none"], here)
    assert done.returncode == 0, done.stdout + done.stderr
    assert drop_progress(done.stderr) == ""
    assert "Nothing is in the way." in done.stdout
    assert f"python {sys.version.split()[0]}" in done.stdout
    assert everything_in(here) == []


def test_a_missing_key_is_in_the_way_of_the_chosen_configuration_only(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("litellm")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret-value")
    monkeypatch.setenv("MY_SERVER", "http://user:password@127.0.0.1:9/v1")
    assert DoctorTask().execute(compose(*PLAIN, "rewriter=none", "llm=claude"), here) == 0, (
        "no stage asks an llm"
    )
    chosen = compose("tracker=none", "llm=claude", "llm.api_base_env=MY_SERVER", "generator=direct")
    assert DoctorTask().execute(chosen, here) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "fail llm=litellm: ANTHROPIC_API_KEY is not set: export it" in said
    assert (
        "ok set: OPENAI_API_KEY (llm=gpt, llm=gpt4, llm=openai, llm=litellm, llm=openai_compatible, "
        "embedder=litellm, embedder=openai_compatible, ranker=litellm)" in said
    )
    assert "set: MY_SERVER (llm=litellm)" in said
    assert "2 things are in the way of this configuration." in said, (
        "nothing answers at the address, either"
    )
    assert "a-secret-value" not in said
    assert "password" not in said


def test_what_cannot_be_built_is_said_once(here: Path) -> None:
    (line,) = failures("dataset=jsonl")
    assert line.startswith("dataset: dataset=jsonl needs dataset.conversations=FILE")
    (line,) = failures("rewriter=replay", "rewriter.path=nowhere.jsonl")
    assert "nowhere.jsonl" in line


class TestStore:
    def test_one_that_is_used(self, here: Path) -> None:
        store = Store("outputs/store")
        store.put("kind", {"key": b"value"})
        before = everything_in(here)
        assert findings()["store"] == [("ok", "store.path=outputs/store: can be written to")]
        assert everything_in(here) == before

    def test_one_that_cannot_be(self, here: Path) -> None:
        (line,) = failures("store.path=/proc/nowhere/store")
        assert "/proc cannot be written to" in line
        (here / "file").touch()
        (line,) = failures("store.path=file/store")
        assert "cannot be written to" in line


class TestVersions:
    @pytest.mark.parametrize(
        ("name", "version", "level"),
        [("litellm", "1.82.7", "warn"), ("pydantic", "1.10", "fail"), ("rich", "", "fail")],
    )
    def test_those_that_will_not_do(
        self, name: str, version: str, level: str, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = metadata.version

        def fake(asked: str) -> str:
            if asked == name and not version:
                raise metadata.PackageNotFoundError(asked)
            return version if asked == name else real(asked)

        monkeypatch.setattr(metadata, "version", fake)
        found = [(each, line) for each, line in findings()["versions"] if line.startswith(name)]
        ((found_level, line),) = found
        assert found_level == level
        assert "pip install" in line


class TestOthers:
    def test_a_stage_of_others_is_asked_and_may_be_careless(
        self, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Careless(toys.ShoutingRewriter):
            def check(self) -> Any:
                raise KeyError("careless")

        class Picky(toys.ShoutingRewriter):
            def check(self) -> Any:
                yield "ACME_KEY is not set: export it"

        loaded = plugins.load()
        for name, cls in (("careless", Careless), ("picky", Picky)):
            key = ("rewriter", name)
            monkeypatch.setitem(
                loaded.registry._options, key, Option("rewriter", name, cls, "acme", "acme")
            )
        wanted = {"_option_": "careless"}
        config = compose(*PLAIN)
        for name, line in (
            (
                "careless",
                "rewriter=careless: check failed: KeyError: 'careless' (rewriter=careless, plugin 'acme' of acme: ",
            ),
            ("picky", "rewriter=picky: ACME_KEY is not set: export it"),
        ):
            config.rewriter = {**wanted, "_option_": name}
            found = {title: list(found) for title, found in examine(config)}
            failed = [
                f"{f.subject}: {f.message}" for f in found["the chosen stages"] if f.level == "fail"
            ]
            assert [found[: len(line)] for found in failed] == [line]

    def test_plugins_that_failed_are_told_and_not_in_the_way(
        self, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        failure = PluginError(
            "plugin 'acme' could not be loaded", plugin="acme", distribution="acme-dist"
        )
        monkeypatch.setattr(plugins.load().registry, "failures", [failure])
        assert findings()["plugins"] == [("warn", "acme: plugin 'acme' could not be loaded")]
        assert failures() == []
