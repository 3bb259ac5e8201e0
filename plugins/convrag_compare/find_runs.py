"""Finds finished runs by a folder, a glob, the folder of a grid, or an id in MLflow."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from convrag import ConfigError
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.tasks.grids import CELL_FILE, read_json, read_sweep
from convrag.sdk.tasks.runs import MANIFEST, read_choices, read_hydra_config, read_overrides
from convrag_compare.factors import find_factors, get_levels, parse_overrides
from convrag_compare.mlflow_runs import download_runs, is_mlflow_id
from convrag_compare.run_result import RunResult, read_run_result


def find_runs(
    runs: Sequence[str], downloads: Path = Path("mlflow"), tracking_uri: str = ""
) -> list[RunResult]:
    """Find and read runs, in the order given.

    Runs of the same experiment with the same scores count once.

    Args:
        runs: folders of runs or grids, globs of such folders, or ids of runs or grids in MLflow.
        downloads: the folder for the files of runs in MLflow.
        tracking_uri: MLflow's tracking address.

    Raises:
        ConfigError: a text is none of these, or names no finished run.
        MissingExtra: MLflow is needed and not installed.
        DataError: a file of a run is broken.
    """
    found: dict[Path, None] = {}
    for run in runs:
        found |= dict.fromkeys(_find_folders(run, downloads, tracking_uri))
    folders = list(found)
    results = {}
    for folder, name in zip(folders, _find_shortest_names(folders), strict=True):
        results[folder] = read_run_result(folder, name, parse_overrides(read_overrides(folder)))
    return _make_distinct(_add_defaults(_join_repeated(results)))


def name_runs(results: Sequence[RunResult], names: Sequence[str]) -> list[RunResult]:
    """Give runs these names, which replace their overrides in tables and plots.

    Raises:
        ConfigError: there are more or fewer names than runs, or two are alike.
    """
    if len(names) != len(results):
        found = "\n".join(f"  {result.name}" for result in results)
        raise ConfigError(
            f"task.names: {len(names)} names for {len(results)} runs. The runs are, in order:\n"
            f"{found}"
        )
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"task.names: two runs are named {name!r}")
    return [
        replace(run, name=name, choices={"run": name})
        for run, name in zip(results, names, strict=True)
    ]


def _find_folders(run: str, downloads: Path, tracking_uri: str) -> list[Path]:
    path = Path(run).expanduser().absolute()
    if path.exists():
        matches = [path]
    else:
        matches = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    found = [folder for match in matches for folder in _list_runs(match)]
    if not matches and is_mlflow_id(run):
        found = list(download_runs(run, downloads, tracking_uri))
    if not found:
        raise ConfigError(
            f"task.runs: {run!r} is not a finished run. Give folders that hold a metrics.json, "
            "folders of grids, globs of such, or ids of runs in MLflow: "
            "task.runs=[outputs/2025-01-31/12-00-00-abc,...]"
        )
    return found


def _list_runs(folder: Path) -> list[Path]:
    """List the folder of a run itself, or those of a grid's finished cells, in the grid's order."""
    if (folder / "metrics.json").is_file():
        return [folder]
    found = []
    for cell in read_sweep(folder).get("cells", []):
        if cell.get("same_as"):
            continue
        run = folder / cell["id"]
        # a cell that failed may still have the metrics of an earlier try
        failed = read_json(run / CELL_FILE).get("state") == "failed"
        if (run / "metrics.json").is_file() and not failed:
            found.append(run)
    return found


def _find_shortest_names(folders: Sequence[Path]) -> list[str]:
    """Name folders by the last parts of their paths, as many as make all names different."""
    depth = 1
    while len({folder.parts[-depth:] for folder in folders}) < len(folders):
        depth += 1
    return ["/".join(folder.parts[-depth:]) for folder in folders]


def _join_repeated(results: Mapping[Path, RunResult]) -> dict[Path, RunResult]:
    """Leave out runs that repeat an earlier one, which then has their names in `repeated_by`.

    Runs of the same experiment whose scores differ (a model may answer otherwise) stay separate.
    """
    distinct: dict[Path, RunResult] = {}
    first_folders: dict[str, Path] = {}
    for folder, result in results.items():
        identity = _read_identity(folder) if result.has_scores else ""
        first_folder = first_folders.get(identity) if identity else None
        if first_folder is None:
            distinct[folder] = result
            first_folders.setdefault(identity, folder)
            continue
        original = distinct[first_folder]
        if original.scores == result.scores:
            names = (*original.repeated_by, result.name)
            distinct[first_folder] = replace(original, repeated_by=names)
        else:
            distinct[folder] = result
    return distinct


def _read_identity(folder: Path) -> str:
    """Read what identifies the experiment of a run.

    It is empty for scores of files (task=evaluate), which nothing identifies.
    """
    task = read_hydra_config(folder).get("task")
    if not isinstance(task, Mapping) or task.get(OPTION_KEY) != "run":
        return ""
    return str(read_json(folder / MANIFEST).get("identity", ""))


def _add_defaults(results: Mapping[Path, RunResult]) -> list[RunResult]:
    """Give every run a value for each key that some run chose, from its own configuration."""
    keys = dict.fromkeys(key for result in results.values() for key in result.choices)
    completed = []
    for folder, result in results.items():
        if all(key in result.choices for key in keys):
            completed.append(result)
            continue
        config = read_hydra_config(folder)
        options = read_choices(folder)
        choices = {}
        for key in keys:
            value = result.choices.get(key) or _get_configured(config, options, key)
            if value:
                choices[key] = value
        completed.append(replace(result, choices=choices))
    return completed


def _make_distinct(results: list[RunResult]) -> list[RunResult]:
    """Make the names of the runs a factor if two runs chose the same."""
    factors = find_factors(results)
    if len({get_levels(result, factors) for result in results}) == len(results):
        return results
    return [replace(result, choices={"run": result.name, **result.choices}) for result in results]


def _get_configured(config: Mapping[str, Any], options: Mapping[str, Any], key: str) -> str:
    """Return the value at a dotted key of a configuration, or the option if the key is a stage.

    It is empty if there is none.
    """
    if isinstance(options.get(key), str):
        return str(options[key])
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping):
        value = value.get(OPTION_KEY)
    return "" if value is None else str(value)
