"""run.json and other files that say how a run was made, and by which a finished one is reused.

run.json holds what the results depend on, so that a finished run is recognized when the same one is
asked for again. `.hydra/` holds what Hydra wrote, with references such as `${oc.env:KEY}` as they
are.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from convrag import __version__
from convrag.api.errors import DataError
from convrag.api.records import Run, RunSummary
from convrag.score.summary import read_summary
from convrag.store.code_hash import hash_package
from convrag.store.fingerprint import digest
from convrag.store.folders import check_files
from convrag.store.yaml_text import parse_config

log = logging.getLogger(__name__)

MANIFEST = "run.json"


def format_manifest(run: Run, files: Mapping[str, Mapping[str, int]]) -> str:
    """Format the run.json of a run. `files` are its other files, as from `describe_files`."""
    row = {"identity": compute_identity(run), "fingerprints": run.fingerprints, "files": files}
    return json.dumps(row, indent=2)


def list_run_files(folder: Path) -> list[Path]:
    """List the files of a finished run: run.json, and those that it names."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return [folder / MANIFEST, *(folder / name for name in manifest["files"])]


def read_finished_summary(run: Run) -> RunSummary | None:
    """Read the summary of a run with the same stages and settings that finished in this folder.

    None if there is none, or if it was partial or failed (see RunSummary.state): that run again
    asks only for what is missing. None also if its files are damaged; a warning names them.
    """
    try:
        manifest = json.loads((run.folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["identity"] != compute_identity(run):
            return None
        damage, _ = check_files(run.folder, manifest["files"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        damage = f"{MANIFEST} is damaged ({error!r})"
    summary = None
    if not damage:
        try:
            summary = read_summary(run.folder / "metrics.json")
        except DataError as error:
            damage = str(error)
    if damage:
        log.warning("%s: %s; this experiment is run again", run.folder, damage)
    return summary if summary and summary.state == "ok" else None


def compute_identity(run: Run) -> str:
    """Compute a hash of all that a run's results depend on: convrag, stages and some settings."""
    settings = {name: run.config.get(name) for name in ("top_k", "top_n", "history", "limit")}
    return digest([__version__, hash_package(__name__), run.fingerprints, settings])


def read_hydra_config(folder: Path) -> Mapping[str, Any]:
    """Read the configuration of a run; empty if there is none."""
    return _read_mapping(folder / ".hydra" / "config.yaml")


def read_overrides(folder: Path) -> list[str]:
    """Read the overrides of a run as they were typed: `rewriter=last_n`."""
    overrides = _read(folder / ".hydra" / "overrides.yaml")
    return list(map(str, overrides)) if isinstance(overrides, list) else []


def read_choices(folder: Path) -> Mapping[str, str]:
    """Read config group -> chosen option; empty if Hydra has not written it."""
    written = _read_mapping(folder / ".hydra" / "hydra.yaml")
    runtime = written.get("hydra", {}).get("runtime", {})
    return dict(runtime.get("choices", {}))


def _read_mapping(path: Path) -> dict[str, Any]:
    loaded = _read(path)
    return cast(dict[str, Any], loaded) if isinstance(loaded, dict) else {}


def _read(path: Path) -> Any:
    if not path.exists():
        return None
    try:
        config = parse_config(path.read_text(encoding="utf-8"))
    except (ValueError, yaml.YAMLError, OmegaConfBaseException, RecursionError) as error:
        problem = f"this is no configuration of a run ({' '.join(str(error).split())})"
        raise DataError(problem, path=path) from error
    return OmegaConf.to_container(config, resolve=False)
