"""`task=doctor`: what is missing or broken for a configuration."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig

from convrag import Task
from convrag.sdk.groups import GROUPS
from convrag.sdk.tasks.options import plugins
from convrag.sdk.tasks.turns import Wiring
from convrag_kit import doctor_checks
from convrag_kit.doctor_checks import ConfiguredStages, Finding, Level
from convrag_kit.doctor_trials import try_models

_STYLES: dict[Level, str] = {"ok": "green", "-": "dim", "warn": "yellow", "fail": "red"}


@dataclass(kw_only=True, eq=False)
class DoctorTask(Task):
    """Check versions, plugins, stages, keys and the store for a configuration, and say what to do.

    Add what a run would have: `python -m convrag task=doctor llm=claude embedder=bge`. Each stage
    that is chosen is asked for itself, plugins of others included. Nothing is changed or
    downloaded. The exit status is 1 where something that this configuration needs is missing.

    Args:
        ask: asks each language model of the configuration for four short replies, each embedder for
            a vector and each reranker for a ranking, and prints what it can do, with times. That
            costs some hundred tokens; false asks for nothing.
    """

    ask: bool = True

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Print the findings; 1 where one of them would make a run fail."""
        return int(print_findings(examine(config, ask=self.ask)) > 0)


def examine(config: DictConfig, *, ask: bool = True) -> Iterator[tuple[str, Iterable[Finding]]]:
    """Yield the title and the findings of each part of the report."""
    yield "versions", doctor_checks.check_versions()
    yield "plugins", _check_plugins()
    with (
        tempfile.TemporaryDirectory() as empty
    ):  # some stages open the store in check(), which would create it
        copy = config.copy()
        copy.store.path, copy.store.url = empty, None
        stages = ConfiguredStages(Wiring(copy))
        yield "the chosen stages", stages.findings()
        if ask:
            yield "the models, asked", try_models(stages)
        yield "keys (by name; values are never shown)", doctor_checks.check_keys(stages)
        yield "store", doctor_checks.check_store(Path(config.store.path), config.store.url or "")


def _check_plugins() -> list[Finding]:
    """Return the plugins that failed to load, or the distributions of those that are loaded."""
    registry = plugins.load().registry
    if failures := registry.failures:
        return [Finding("warn", failure.plugin, str(failure)) for failure in failures]
    options = [option for group in GROUPS for option in registry.options(group).values()]
    return [
        Finding(
            "ok",
            ", ".join(sorted({f"{option.distribution} {option.version}" for option in options})),
        )
    ]


def print_findings(parts: Iterable[tuple[str, Iterable[Finding]]]) -> int:
    """Print the parts of a report, each below its title and without those that are empty; return
    how many failed.
    """
    from rich.table import Table
    from rich.text import Text

    from convrag.sdk.output.console import make_console

    console = make_console()
    failed = 0
    for title, findings in parts:
        rows = Table.grid(padding=(0, 1))
        for level, subject, message in findings:
            failed += level == "fail"
            rows.add_row(
                Text(f"  {level:<4}", _STYLES[level]),
                Text(f"{subject}: {message}" if message else subject),
            )
        if rows.row_count:
            console.print(Text(f"\n{title}", style="bold"))
            console.print(rows)
    end = (
        f"{failed} things are in the way of this configuration."
        if failed
        else "Nothing is in the way."
    )
    console.print(f"\n{end if failed != 1 else 'One thing is in the way of this configuration.'}")
    return failed
