"""Fingerprints: what makes two stages the same stage, so that their results can stand for each other."""

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
    """A hash of plain data, dataclasses and stages that is the same in every process."""
    plain = json.dumps(value, sort_keys=True, default=_plain, ensure_ascii=False, separators=(",", ":"))
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def fingerprint(stage: Stage, option: str, parameters: Mapping[str, Any]) -> str:
    """Identity of a built stage.

    Args:
        stage: the stage object.
        option: the name under which it was registered.
        parameters: those that bear on results, injected stages among them (they count with their own fingerprints).
    """
    cls = type(stage)
    name = f"{cls.__module__}.{cls.__qualname__}"
    wording = [[prompt.task, prompt.source] for prompt in stage.prompt_templates]
    return digest([name, option, parameters, source_hash(cls.__module__), stage.content_hash(), wording])


@cache
def source_hash(module: str) -> str:
    """A hash of the source and templates of the package that a module belongs to, or of a single-file module."""
    package = module.partition(".")[0]
    found = sys.modules.get(package)
    if found is None or not getattr(found, "__file__", None):
        return ""  # defined at a prompt or in a notebook: nothing to read
    if not hasattr(found, "__path__"):
        return _hash([Path(str(found.__file__))])
    root = Path(str(resources.files(package)))
    return _hash(sorted(path for path in root.rglob("*") if path.suffix in _SOURCES and path.is_file()))


def file_hash(path: Path) -> str:
    """A hash of a file's bytes; of a missing file, empty."""
    return _hash([path], names=False) if path.is_file() else ""


def _hash(paths: list[Path], *, names: bool = True) -> str:
    digests = blake2b(digest_size=16)
    for path in paths:
        digests.update(path.name.encode() if names else b"")
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digests.update(block)
    return digests.hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Stage):
        return value.fingerprint
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.compare}
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
