"""Hashes of stages, files and source code. Stages with the same fingerprint give the same results."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import Any

from convrag.api.stage import Stage

_SOURCES = {".py", ".jinja", ".txt", ".json", ".yaml"}


def digest(value: Any) -> str:
    """Hash plain data, dataclasses and stages; the hash is the same in every process."""
    plain = json.dumps(value, sort_keys=True, default=_to_plain, ensure_ascii=False, separators=(",", ":"))
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def compute_fingerprint(stage: Stage, option: str, parameters: Mapping[str, Any]) -> str:
    """Compute the fingerprint of a stage from all that bears on its results.

    Args:
        stage: the stage object.
        option: the name under which it was registered.
        parameters: the parameters that bear on results. Injected stages count with their fingerprints.
    """
    cls = type(stage)
    name = f"{cls.__module__}.{cls.__qualname__}"
    wording = [[prompt.task, prompt.source] for prompt in stage.prompt_templates]
    return digest([name, option, parameters, source_hash(cls.__module__), stage.content_hash(), wording])


@cache
def source_hash(module: str) -> str:
    """Hash the source and templates of the package that a module belongs to, or the file of a single-file module."""
    package = module.partition(".")[0]
    loaded = sys.modules.get(package)
    if loaded is None or not getattr(loaded, "__file__", None):
        return ""  # defined at a prompt or in a notebook: there is no source file
    if not hasattr(loaded, "__path__"):
        return _hash_files([Path(str(loaded.__file__))])
    root = Path(str(resources.files(package)))
    return _hash_files(sorted(path for path in root.rglob("*") if path.suffix in _SOURCES and path.is_file()))


def file_hash(path: Path) -> str:
    """Hash the bytes of a file; the hash of a missing file is empty."""
    return _hash_files([path], names=False) if path.is_file() else ""


def _hash_files(paths: list[Path], *, names: bool = True) -> str:
    """Hash the bytes of files, one after the other, with their names unless `names` is False."""
    total = blake2b(digest_size=16)
    for path in paths:
        total.update(path.name.encode() if names else b"")
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                total.update(block)
    return total.hexdigest()


def _to_plain(value: Any) -> Any:
    """Convert what `json` cannot write: stages, dataclasses and mappings as data, everything else as text."""
    if isinstance(value, Stage):
        return value.fingerprint
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.compare}
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
