"""Fingerprints of stages, and the hashes of values and files that keys are made of.

A fingerprint covers all that bears on a stage's results: stages with the same fingerprint give the
same results.
"""

import json
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
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
from convrag.api.stage import LLM, Stage
from convrag.store.code_hash import hash_class
from convrag.store.libraries import find_libraries

_MARK = "~"
"""Begins the only key of an object that JSON writes for a value which JSON does not have."""

_SCALARS = frozenset({str, int, float, bool, type(None)})
"""The types whose values JSON writes in different ways: "1", 1, 1.0, true, null."""

_DETERMINED_BY_REPR = (bytes, date, time, timedelta, Decimal, Fraction, complex, range, UUID)
"""The types whose `repr` is the same in every process, and differs where the values do."""


def digest(value: Any, place: str = "this value") -> str:
    """Hash plain data, dataclasses, arrays and stages; the hash is the same in every process.

    Values of different types have different hashes: 1, 1.0, True and "1"; {1: "a"} and {"1": "a"};
    a path and its text; objects of two dataclasses with the same fields. These count as the same
    type, as they are where they come from:

    * lists and tuples, named tuples included, since YAML and JSON make a list of either;
    * all mappings, whatever the order of their keys;
    * sets and frozensets;
    * a plain type (str, int, float) and classes derived from it, other than enums.

    A field of a dataclass with `metadata={"identity": False}` does not count; one with
    `{"identity": "if_set"}` counts unless it has its default, so that hashes stay as they were
    before the field was added.

    Args:
        value: what to hash.
        place: what the value is, for the message ("rewriter=mmr: parameter weights").

    Raises:
        UnidentifiedValue: the value holds an object that has no such hash.
    """
    try:
        text = _format_canonical(_to_json(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnidentifiedValue(place, str(error)) from error
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


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
    parts = {
        "class": f"{cls.__module__}.{cls.__qualname__}",
        "option": option,
        "parameters": {
            name: digest(value, f"{option}: parameter {name}") for name, value in parameters.items()
        },
        **_identify_code(cls, parameters),
        "files": stage.content_hash() if with_files else "",
        "endpoints": list(stage.endpoints()),
        "prompts": [[prompt.task, prompt.source] for prompt in stage.prompt_templates],
    }
    return digest(parts)


def _identify_code(cls: type[Stage], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Identify the code of a class: its source and its libraries, or its own `code_version`."""
    if cls.code_version:
        return {"code_version": cls.code_version}
    declared = collect_libraries(cls)
    reached = find_libraries(cls, asks_model=_asks_model(parameters))
    return {
        "source": hash_class(cls, declared),
        "libraries": {name: find_version(name) for name in (*declared, *reached)},
    }


def _asks_model(parameters: Mapping[str, Any]) -> bool:
    """Whether one of the injected stages is a language model, rather than an LLM stage of rules."""
    return any(isinstance(each, LLM) and each.tasks is None for each in parameters.values())


def collect_libraries(cls: type[Stage]) -> tuple[str, ...]:
    """Collect what a class and its base classes declare in `requires` and `libraries`, sorted."""
    names: set[str] = set()
    for base in cls.__mro__:
        for attribute in ("requires", "libraries"):
            names.update(vars(base).get(attribute, ()))
    return tuple(sorted(names))


@cache
def find_version(name: str) -> str:
    """Find the version of a distribution, or of the one that has a module; empty if none has it."""
    try:
        return version(name)
    except PackageNotFoundError:
        # Reads the metadata of all distributions, which takes a third of a second
        owners = sorted(set(packages_distributions().get(name, ())))
        return ", ".join(f"{owner} {version(owner)}" for owner in owners)


def hash_text(text: str) -> bytes:
    """Hash a text to 16 bytes, for sets and tables of texts."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def file_hash(path: Path) -> str:
    """Hash the bytes of a file; the hash of a missing file is empty."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file_digest(file, partial(blake2b, digest_size=16)).hexdigest()


def _format_canonical(plain: Any) -> str:
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _to_json(value: Any) -> Any:
    """Convert a value to JSON's types, marked where JSON does not have its type.

    Raises TypeError for an object that cannot be told from other objects in every process.
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is list or kind is tuple:
        return [_to_json(item) for item in value]
    if kind is dict:
        return _mapping_to_json(value)
    return _object_to_json(value)


def _counts(field: Field[Any], value: Any) -> bool:
    """Whether a field of a dataclass is part of the identity of its objects."""
    identity = field.metadata.get("identity", True)
    if identity == "if_set":
        return bool(getattr(value, field.name) != field.default)
    return bool(identity)


def _mapping_to_json(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """Convert a mapping; one with keys that are not plain texts becomes a sorted list of pairs."""
    pairs = [(_to_json(key), _to_json(item)) for key, item in mapping.items()]
    if all(isinstance(key, str) and not key.startswith(_MARK) for key, _ in pairs):
        return dict(pairs)
    return {"~mapping": sorted(pairs, key=_format_canonical)}


def _object_to_json(value: Any) -> Any:
    """Convert a value that is not of JSON's own types."""
    if isinstance(value, Stage):
        if not value.fingerprint:
            raise TypeError(f"a {type(value).__name__} that was built by hand has no fingerprint")
        return {"~stage": value.fingerprint}
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if is_dataclass(value) and not isinstance(value, type):
        counted = [field.name for field in fields(value) if _counts(field, value)]
        return {"~object": [name, {each: _to_json(getattr(value, each)) for each in counted}]}
    if isinstance(value, Enum):
        # A combination of flags may have no name
        return {"~enum": [name, _to_json(value.value) if value.name is None else value.name]}
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        shape = list(getattr(value, "shape", ()))
        return {"~array": [name, str(value.dtype), shape, _to_json(value.tolist())]}
    if isinstance(value, Mapping):
        return _mapping_to_json(value)
    if isinstance(value, set | frozenset):
        return {"~set": sorted((_to_json(item) for item in value), key=_format_canonical)}
    if isinstance(value, PurePath):
        return {"~path": str(value)}
    if isinstance(value, _DETERMINED_BY_REPR):
        return {"~repr": [name, repr(value)]}
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, str | int | float):
        return value  # JSON writes it as the plain type that its class is derived from
    raise TypeError(f"an object of the class {name} has no fixed form")
