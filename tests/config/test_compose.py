from pathlib import Path

import pytest

from convrag.api.errors import ConfigError
from convrag.config.compose import compose, compose_from_command, read_settings
from convrag.config.settings import DEFAULT_METRICS
from tasks import run_here


def test_defaults_compose() -> None:
    config = compose()
    assert config.rewriter._option_ == "auto"
    assert tuple(config.metrics) == DEFAULT_METRICS
    assert read_settings(config).top_k == 10
    assert "hydra" not in config


def test_groups_and_parameters_can_be_overridden() -> None:
    config = compose("rewriter=last_n", "rewriter.n=4", "top_k=3", "metrics=[]", "~clusterer")
    assert (config.rewriter._option_, config.rewriter.n, config.top_k) == ("last_n", 4, 3)
    assert config.metrics is None or not config.metrics
    assert config.clusterer is None


def test_a_stage_can_have_a_stage_of_its_own() -> None:
    config = compose(
        "rewriter=threshold", "+embedder@rewriter.embedder=lsa", "rewriter.embedder.dimensions=8"
    )
    assert config.rewriter.embedder._option_ == "lsa"
    assert config.rewriter.embedder.dimensions == 8
    assert config.embedder.dimensions != 8


@pytest.mark.parametrize(
    "path", ["~/handbook", "/tmp/Übungen 2/日本語", "/srv/справочник", "~/x/*.md"]
)
def test_paths_are_read_as_the_command_reads_them(path: str) -> None:
    chosen = ("dataset=documents", f"dataset.path={path}")
    assert compose(*chosen).dataset.path == path
    assert compose_from_command(*chosen)[0].dataset.path == path
    assert compose("dataset=documents", f"dataset.path=[{path}, notes.txt]").dataset.path == [
        path,
        "notes.txt",
    ]


def test_a_plugin_file_may_have_letters_of_any_script(tmp_path: Path) -> None:
    file = tmp_path / "Erweiterung_für_uns.py"
    file.write_text(
        "from convrag import hookimpl\n\n@hookimpl\ndef convrag_register(register):\n    pass\n",
        encoding="utf-8",
    )
    assert compose(f"plugins=[{file}]").plugins == [str(file)]


@pytest.mark.parametrize(
    "override", ["sweep.baseline=rewriter=none+top_k=3", "sweep.metric=nDCG@5,ROUGE-L"]
)
def test_a_grids_settings_are_read_as_the_command_reads_them(override: str) -> None:
    key, _, value = override.partition("=")
    assert compose(override).sweep[key.removeprefix("sweep.")] == value


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("rewriter=nosuch", ["rewriter 'nosuch' does not exist", "full_history"]),
        ("rewriter=full_histroy", ["Did you mean 'full_history'?"]),
        ("rewriter=last_n,none", ["rewriter=last_n,none", "--multirun"]),
        ("rewriter=1", ["an option has a name", "full_history"]),
        ("rewriter=null", ["an option has a name", "full_history"]),
        ("=", ["="]),
        ("rewriter.nosuch=1", ["nosuch"]),
        (
            "rewriter.n=3",
            [
                "rewriter=auto: parameter 'n' does not exist",
                "rewriter.n belongs to",
                "rewriter=last_n",
            ],
        ),
        ("retriever.k1=much", ["retriever.k1=much: input should be a valid number"]),
        ("top_n=many", ["top_n=many: input should be a valid integer"]),
        ("top_q=1", ["option 'top_q' does not exist", "Did you mean 'top_"]),
        ("rewritter=none", ["'rewritter' does not exist", "Did you mean 'rewriter'"]),
        ("rewriter", ["rewriter"]),
        ("history=all", ["history: value 'all' does not exist", "generated, gold, none"]),
        ("top_k=0", ["top_k=0", "at least 1"]),
        ("workers=-1", ["workers=-1", "at least 1"]),
    ],
)
def test_mistakes_are_answered_in_our_words(override: str, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(compose(override))
    for part in parts:
        assert part in str(caught.value)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("group", ["system", "seed", "sweep"])
def test_a_preset_without_its_plus_is_pointed_out(group: str) -> None:
    with pytest.raises(ConfigError, match=rf"written with a plus: \+{group}=\.\.\."):
        compose(f"{group}=mmr")


SHOWN = """
from convrag import Task, hookimpl

class Shown(Task):
    "Shows a configuration."
    def execute(self, config, folder):
        from convrag.config.compose import compose_from_command
        more, command = compose_from_command("rewriter=last_n", "+seed=short")
        print(more.top_k, more.rewriter._option_, more.history, command.names["rewriter"])
        return 0

@hookimpl
def convrag_register(register):
    register("task", "shown", Shown)
"""


def test_more_overrides_come_behind_those_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "mine/seed").mkdir(parents=True)
    (tmp_path / "mine/seed/short.yaml").write_text("# @package _global_\ntop_k: 7\n")
    (tmp_path / "shown.py").write_text(SHOWN)
    given = [
        "--config-dir",
        "mine",
        "plugins=[shown.py]",
        "task=shown",
        "rewriter=none",
        "history=none",
    ]
    done = run_here(given, tmp_path)
    assert (done.returncode, done.stdout) == (0, "7 last_n none last_n\n"), done.stderr


READING = """
from convrag import Task, hookimpl
from convrag.config.command import Command
from convrag.config.compose import compose_from_command

class Reading(Task):
    "Reads a configuration that is composed while the command runs."
    def execute(self, config, folder):
        more, command = compose_from_command("top_k=7")
        print(more.store.url, more.top_k, *Command.read().overrides[2:], *command.overrides[2:])
        return 0

@hookimpl
def convrag_register(register):
    register("task", "reading", Reading)
"""


def test_a_reference_in_the_command_is_composed_again_as_a_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its value is a password, which is refused in a command, and has Hydra's signs in it."""
    address = "postgresql+psycopg://me:{a, b}@localhost/c"
    monkeypatch.setenv("MY_STORE", address)
    (tmp_path / "reading.py").write_text(READING)
    reference = "store.url=${oc.env:MY_STORE}"
    done = run_here(["plugins=[reading.py]", "task=reading", reference], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{address} 7 {reference} {reference} top_k=7\n"


def test_outside_of_a_command_the_overrides_are_all() -> None:
    config, command = compose_from_command("top_k=7", "rewriter=last_n")
    assert (config.top_k, command.names["rewriter"]) == (7, "last_n")
