"""Names of parameters, metrics and tags in forms that MLflow takes."""

import re
from collections.abc import Iterable

MAX_LENGTH = 250
"""The most characters that MLflow takes in a name."""

_FORBIDDEN = re.compile(r"[^\w\-. :/]")


def make_keys(names: Iterable[str]) -> dict[str, str]:
    """Return name -> key; different names have different keys.

    MLflow takes letters, digits and some signs. It also reads a name as a path, which must be in
    its shortest form. Most names are keys as they are.
    """
    distinct = sorted(set(names))
    keys = {name: name for name in distinct if _make_key(name) == name}
    taken = set(keys)
    for name in distinct:
        if name not in keys:
            key = _find_free_key(_make_key(name), taken)
            keys[name] = key
            taken.add(key)
    return keys


def _make_key(name: str) -> str:
    """Return a name without the plus of an override and without what MLflow refuses."""
    text = name.lstrip("+~").replace("@", "_at_")
    text = _FORBIDDEN.sub("_", text)
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[:MAX_LENGTH].rstrip("/") or "_"


def _find_free_key(key: str, taken: set[str]) -> str:
    """Return the key, or one with a number after it where the key is taken."""
    candidate = key
    number = 1
    while candidate in taken:
        number += 1
        suffix = f"_{number}"
        candidate = key[: MAX_LENGTH - len(suffix)] + suffix
    return candidate
