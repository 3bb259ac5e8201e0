"""Finds finished runs by a folder, a glob, or the folder of a grid."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from convrag import ConfigError
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.tasks.grids import CELL_FILE, read_json, read_sweep
from convrag.sdk.tasks.runs import MANIFEST, read_choices, read_hydra_config, read_overrides
from convrag_compare.run_result import (
    RunResult,
    find_factors,
    get_levels,
    parse_overrides,
    read_run_result,
)


def find_runs(runs: Sequence[str]) -> list[RunResult]:
    """Find and read runs, in the order given; runs of the same experiment with the same scores
    count once.

    Args:
        runs: folders of runs or grids, or globs of such folders.

    Raises:
        ConfigError: a text is none of these, or names no finished run.
        DataError: a file of a run is broken.
    """
    folders = list(dict.fromkeys(folder for run in runs for folder in _find_folders(run)))
    names = _find_shortest_names(folders)
    results = [
        read_run_result(folder, name, parse_overrides(read_overrides(folder)))
        for folder, name in zip(folders, names, strict=True)
    ]
    kept = _join_repeated(results, folders)
    folders = [folder for folder, result in zip(folders, kept, strict=True) if result]
    return _make_distinct(_add_defaults([result for result in kept if result], folders))


def name_runs(results: Sequence[RunResult], names: Sequence[str]) -> list[RunResult]:
    """The runs with these names, which stand for their overrides in tables and plots.

    Raises:
        ConfigError: there are more or fewer names than runs, or two are alike.
    """
    if len(names) != len(results):
        found = "\n".join(f"  {result.name}" for result in results)
        raise ConfigError(
            f"task.names: {len(names)} names for {len(results)} runs. The runs are, in order:\n{found}"
        )
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ConfigError(f"task.names: two runs are named {twice!r}")
    return [
        replace(run, name=name, choices={"run": name})
        for run, name in zip(results, names, strict=True)
    ]


def _find_folders(run: str) -> list[Path]:
    path = Path(run).expanduser().absolute()
    matches = (
        [path]
        if path.exists()
        else sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    )
    found = [folder for match in matches for folder in _list_runs(match)]
    if not found:
        raise ConfigError(
            f"task.runs: {run!r} is no finished run. Give folders that hold a metrics.json, folders of grids, or globs "
            "of such: task.runs=[outputs/2025-01-31/12-00-00-abc,...]"
        )
    return found


def _list_runs(folder: Path) -> list[Path]:
    """The folder of a run itself, or of each finished cell of a grid, in the order of the grid.

    A cell that failed may still have the metrics of an earlier try.
    """
    if (folder / "metrics.json").is_file():
        return [folder]
    inner = [
        folder / cell["id"]
        for cell in read_sweep(folder).get("cells", [])
        if not cell.get("same_as")
    ]
    finished = [cell for cell in inner if (cell / "metrics.json").is_file()]
    return [cell for cell in finished if read_json(cell / CELL_FILE).get("state") != "failed"]


def _find_shortest_names(folders: Sequence[Path]) -> list[str]:
    """As many of the last parts of each path as make all of them different."""
    depth = 1
    while len({folder.parts[-depth:] for folder in folders}) < len(folders):
        depth += 1
    return ["/".join(folder.parts[-depth:]) for folder in folders]


def _join_repeated(results: Sequence[RunResult], folders: Sequence[Path]) -> list[RunResult | None]:
    """The runs, with the names of others that repeat them in `repeated_by`; None in the place of
    these others.

    Runs of the same experiment whose scores differ (a model may answer otherwise) stay, each by
    itself.
    """
    kept: list[RunResult | None] = []
    first: dict[str, int] = {}
    for place, (result, folder) in enumerate(zip(results, folders, strict=True)):
        identity = _read_identity(folder) if result.has_scores else ""
        original = kept[first[identity]] if identity in first else None
        if original and original.scores == result.scores:
            kept[first[identity]] = replace(
                original, repeated_by=(*original.repeated_by, result.name)
            )
            kept.append(None)
        else:
            kept.append(result)
            if identity:
                first.setdefault(identity, place)
    return kept


def _read_identity(folder: Path) -> str:
    """What stands for the experiment of a run; empty for scores of files (task=evaluate), which
    nothing identifies.
    """
    task = read_hydra_config(folder).get("task")
    is_run = isinstance(task, Mapping) and task.get(OPTION_KEY) == "run"
    return str(read_json(folder / MANIFEST).get("identity", "")) if is_run else ""


def _add_defaults(results: list[RunResult], folders: Sequence[Path]) -> list[RunResult]:
    """Give every run a value for each key that some run chose, from its configuration where it did
    not choose one.
    """
    keys = dict.fromkeys(key for result in results for key in result.choices)
    completed = []
    for result, folder in zip(results, folders, strict=True):
        if all(key in result.choices for key in keys):
            completed.append(result)
            continue
        config = read_hydra_config(folder)
        chosen = read_choices(folder)
        found = {
            key: result.choices.get(key) or _get_configured(config, chosen, key) for key in keys
        }
        completed.append(
            replace(result, choices={key: value for key, value in found.items() if value})
        )
    return completed


def _make_distinct(results: list[RunResult]) -> list[RunResult]:
    """Where two runs chose the same, make the names of the runs a factor."""
    factors = find_factors(results)
    if len({get_levels(result, factors) for result in results}) == len(results):
        return results
    return [replace(result, choices={"run": result.name, **result.choices}) for result in results]


def _get_configured(config: Mapping[str, Any], chosen: Mapping[str, Any], key: str) -> str:
    """The value at a dotted key of a configuration, or the option's name where the key is a stage;
    empty if none.
    """
    if isinstance(chosen.get(key), str):
        return str(chosen[key])
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping):
        value = value.get(OPTION_KEY)
    return "" if value is None else str(value)
