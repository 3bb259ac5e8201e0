"""What spaCy pipelines there are on this machine, found out without importing spaCy."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from convrag.store.fingerprint import digest, file_hash

META = "meta.json"


def problem_with(pipeline: str) -> str:
    """Why a pipeline cannot be used, and what to do; or nothing."""
    meta = meta_of(pipeline)
    if not meta:
        if Path(pipeline).expanduser().is_dir():
            return f"the folder {pipeline} holds no spaCy pipeline"
        if not pipeline.isidentifier():
            return f"there is no folder {pipeline}: give that of a spaCy pipeline, or the name of an installed one"
        return f"the pipeline {pipeline!r} is not installed: python -m spacy download {pipeline}"
    if not (meta.get("vectors") or {}).get("width"):
        return f"the pipeline {pipeline!r} has no word vectors: choose one that has, such as en_core_web_md"
    return ""


def meta_of(pipeline: str) -> dict[str, Any]:
    """What an installed pipeline, or one in a folder, says of itself; nothing where there is none."""
    try:
        found = json.loads((_folder(pipeline) / META).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def pipeline_hash(pipeline: str) -> str:
    """Identifies an installed pipeline by its release, and one in a folder by its files; empty where there is none."""
    if not (meta := meta_of(pipeline)):
        return ""
    folder = Path(pipeline).expanduser()
    if not folder.is_dir():
        return digest([meta.get("lang"), meta.get("name"), meta.get("version")])
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest([[path.relative_to(folder).as_posix(), file_hash(path)] for path in files])


def _folder(pipeline: str) -> Path:
    folder = Path(pipeline).expanduser()
    if folder.is_dir():
        return folder
    found = find_spec(pipeline) if pipeline.isidentifier() else None
    return Path(found.origin).parent if found and found.origin else folder
