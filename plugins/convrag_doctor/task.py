"""`task=doctor`: the findings, one line each."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from omegaconf import DictConfig

from convrag import PluginError, Task
from convrag.api.stages import GROUPS
from convrag.registry import plugins
from convrag_doctor.finding import Finding


class Doctor(Task):
    """Check versions, keys, models, servers, store and database for a configuration, and say what to do.

    Add what a run would have: `python -m convrag task=doctor llm=claude embedder=bge`. Each stage that is chosen is
    asked for itself, plugins of others included. Nothing is changed, downloaded or paid. The exit status is 1 where
    something that this configuration needs is missing.
    """

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Print the findings."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(highlight=False)
        styles = {"ok": "green", "-": "dim", "warn": "yellow", "fail": "red"}
        failed = 0
        for title, findings in examine(config):
            rows = Table.grid(padding=(0, 1))
            for level, about, message in findings:
                failed += level == "fail"
                rows.add_row(Text(f"  {level:<4}", styles[level]), Text(f"{about}: {message}" if message else about))
            if rows.row_count:
                console.print(Text(f"\n{title}", style="bold"))
                console.print(rows)
        end = f"{failed} things are in the way of this configuration." if failed else "Nothing is in the way."
        console.print(f"\n{end if failed != 1 else 'One thing is in the way of this configuration.'}")
        return int(failed > 0)


def examine(config: DictConfig) -> Iterator[tuple[str, Iterable[Finding]]]:
    """Title and findings of each part."""
    from convrag.turn.wiring import Wiring
    from convrag_doctor import disk, surroundings, versions
    from convrag_doctor.chosen import Chosen

    yield "versions", versions.versions()
    yield "plugins", [Finding("warn", failure.plugin, str(failure)) for failure in _failures()] or _all_loaded()
    with tempfile.TemporaryDirectory() as scratch:  # some checks look into the store, and would make one
        elsewhere = config.copy()
        elsewhere.store.path = scratch
        chosen = Chosen(Wiring(elsewhere))
        yield "the chosen stages", chosen.findings()
        yield "keys (by name; values are never shown)", surroundings.keys(chosen)
        yield "models", surroundings.models(chosen)
        yield "servers", surroundings.servers(chosen)
        yield "store", disk.store(Path(config.store.path))
        yield "databases", disk.databases(chosen)


def _failures() -> list[PluginError]:
    return plugins.load().registry.failures


def _all_loaded() -> list[Finding]:
    registry = plugins.load().registry
    brought = {f"{each.distribution} {each.version}" for group in GROUPS for each in registry.options(group).values()}
    return [Finding("ok", ", ".join(sorted(brought)))]
