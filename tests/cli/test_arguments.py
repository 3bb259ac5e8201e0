"""Flags, and arguments that are nearly right."""

from pathlib import Path

import pytest

from convrag import __version__
from convrag.api.errors import ConfigError
from convrag.cli.arguments import read_arguments
from convrag.config.choices import quote_value
from tasks import run_here


@pytest.mark.parametrize(
    ("arguments", "flags", "overrides"),
    [
        (["rewriter=mmr", "-m", "top_k=1,2"], ["-m"], ["rewriter=mmr", "top_k=1,2"]),
        (
            ["a=1", "--config-dir", "mine", "+seed=x", "--cfg", "job", "b=2"],
            ["--config-dir", "mine", "--cfg", "job"],
            ["a=1", "+seed=x", "b=2"],
        ),
        ([], [], []),
    ],
)
def test_flags_are_told_from_overrides(
    arguments: list[str], flags: list[str], overrides: list[str]
) -> None:
    command = read_arguments(arguments)
    assert (command.flags, command.overrides) == (flags, overrides)


@pytest.mark.parametrize(
    ("typed", "quoted"),
    [
        ("sweep.baseline=rewriter=none+top_k=3", "sweep.baseline='rewriter=none+top_k=3'"),
        ("sweep.baseline='rewriter=none'", "sweep.baseline='rewriter=none'"),
        ("a.path=~/handbook", "a.path='~/handbook'"),
        ("b=~/x/*.md", "b='~/x/*.md'"),
        ("a.path=[~/handbook, notes.txt,/é]", "a.path=['~/handbook', notes.txt,'/é']"),
        ("a.path=~/one,/tmp/two", "a.path='~/one',/tmp/two"),
        *((same, same) for same in ("a='~/x'", 'b="é"', "~d", "e=range(1,3)")),
    ],
)
def test_what_hydra_cannot_read_is_quoted(typed: str, quoted: str) -> None:
    assert quote_value(typed) == quoted


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--mutlirun", "a=1"], ["flag '--mutlirun' does not exist. Did you mean '--multirun'?"]),
        (["--rewriter=mmr"], ["An override has no dashes: rewriter=mmr"]),
        (["-x"], ["flag '-x' does not exist", "--config-dir"]),
        (["--config-dir"], ["--config-dir: expected one argument"]),
        (["--cfg", "jobs"], ["invalid choice: 'jobs'"]),
    ],
)
def test_unknown_flags_are_told_what_to_type(arguments: list[str], parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        read_arguments(arguments)
    for part in parts:
        assert part in str(caught.value)


def test_the_version_is_convrags(tmp_path: Path) -> None:
    done = run_here(["--version"], tmp_path)
    assert (done.returncode, done.stdout) == (0, f"convrag {__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["+sysem=mmr"], "Did you mean '+system'?"),
        (["--config-dir", "nowhere", "+seed=x"], "nowhere"),
        (["-m", "top_n=1,2", "+sysem=mmr"], "Did you mean '+system'?"),
        (["top_k=${nowhere}"], "top_k: it refers to 'nowhere', which is not"),
        (["store.path=/proc/nowhere"], "store.path"),
        (["hydra.run.dir=/proc/nowhere"], "/proc/nowhere"),
    ],
)
def test_a_mistake_is_one_line_with_status_2(
    arguments: list[str], part: str, tmp_path: Path
) -> None:
    done = run_here([*arguments, "tracker=none"], tmp_path)
    assert done.returncode == 2, done.stderr
    assert part in done.stderr
    assert done.stderr.startswith("convrag: ")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("outputs/2*/*")), "no run is left behind"
    assert not list(tmp_path.glob("outputs/sweeps/*"))
