"""Fingerprints of stages: hashes of all that bears on their results. Stages with the same one give
the same results.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from hashlib import blake2b, file_digest
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from convrag.api.errors import UnidentifiedValue
from convrag.api.stage import Stage
from convrag.store.code_hash import read_source

_TOLD_BY_REPR = (bytes, date, time, timedelta, Decimal, Fraction, complex, range, UUID)


def digest(value: Any, place: str = "this value") -> str:
    """Hash plain data, dataclasses, arrays and stages; the hash is the same in every process.

    A field of a dataclass with `metadata={"identity": False}` does not count.

    Args:
        value: what to hash.
        place: what the value is, for the message ("rewriter=mmr: parameter weights").

    Raises:
        UnidentifiedValue: the value holds an object that has no such hash.
    """
    try:
        plain = json.dumps(
            value, sort_keys=True, default=_to_plain, ensure_ascii=False, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise UnidentifiedValue(place, str(error)) from error
    return blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def compute_fingerprint(
    stage: Stage, option: str, parameters: Mapping[str, Any], *, with_files: bool = True
) -> str:
    """Compute the fingerprint of a stage from all that bears on its results.

    Args:
        stage: the stage object.
        option: the name under which it was registered.
        parameters: the parameters that bear on results. Injected stages count with their
            fingerprints.
        with_files: whether `content_hash()` of the stage counts; not for `Stage.series`.

    Raises:
        UnidentifiedValue: a parameter has no hash that is the same in every process.
    """
    cls = type(stage)
    libraries = collect_libraries(cls)
    source = read_source(cls, libraries)
    parts = {
        "class": f"{cls.__module__}.{cls.__qualname__}",
        "option": option,
        "parameters": {
            name: digest(value, f"{option}: parameter {name}") for name, value in parameters.items()
        },
        "source": source.hash,
        "libraries": {name: find_version(name) for name in (*libraries, *source.libraries)},
        "files": stage.content_hash() if with_files else "",
        "endpoints": list(stage.endpoints()),
        "prompts": [[prompt.task, prompt.source] for prompt in stage.prompt_templates],
    }
    return digest(parts)


def collect_libraries(cls: type[Stage]) -> tuple[str, ...]:
    """Collect what a class and its base classes name in `requires` and `libraries`, sorted."""
    named = (
        vars(base).get(attribute, ())
        for base in cls.__mro__
        for attribute in ("requires", "libraries")
    )
    return tuple(sorted({str(name) for names in named for name in names}))


@cache
def find_version(name: str) -> str:
    """Find the version of a distribution, or of the one that brings a module; empty if it is not
    installed.
    """
    try:
        return version(name)
    except PackageNotFoundError:
        owners = sorted(
            set(packages_distributions().get(name, ()))
        )  # reads all distributions: a third of a second
        return ", ".join(f"{owner} {version(owner)}" for owner in owners)


def hash_text(text: str) -> bytes:
    """Hash a text: 16 bytes, by which a text is known again."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def file_hash(path: Path) -> str:
    """Hash the bytes of a file; the hash of a missing file is empty."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file_digest(file, partial(blake2b, digest_size=16)).hexdigest()


def _to_plain(value: Any) -> Any:
    """Convert what `json` cannot write. Raises TypeError for what cannot be told from other objects
    in any process.
    """
    if isinstance(value, Stage):
        if not value.fingerprint:
            raise TypeError(f"a {type(value).__name__} that was built by hand has no fingerprint")
        return value.fingerprint
    if is_dataclass(value) and not isinstance(value, type):
        counted = (field.name for field in fields(value) if field.metadata.get("identity", True))
        return {name: getattr(value, name) for name in counted}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return {"set": sorted(digest(item) for item in value)}
    if isinstance(value, Enum):
        return [type(value).__qualname__, value.name]
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, _TOLD_BY_REPR):
        return {type(value).__name__: repr(value)}
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return {"array": str(value.dtype), "values": value.tolist()}
    raise TypeError(
        f"an object of the class {type(value).__module__}.{type(value).__qualname__} has no fixed form"
    )
