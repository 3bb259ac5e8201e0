"""Joins the JavaScript modules of view/ into one script, which a page can hold."""

import re
from functools import cache
from importlib.resources import files
from pathlib import PurePath

_IMPORT = re.compile(
    r'^import \{\s+(?P<names>\w+(?:,\s+\w+)*),?\s+\} from "\./(?P<module>\w+)\.js";$', re.MULTILINE
)
_EXPORT = re.compile(
    r"^export (?=(?:async )?function (?P<function>\w+)|const (?P<constant>\w+))", re.MULTILINE
)
_OTHER = re.compile(r"^(?:import|export)\b.*|</script|<!--", re.MULTILINE | re.IGNORECASE)
"""Imports and exports of other forms, and what a script element may not contain."""


def read_view_file(name: str) -> str:
    """Read a file of view/."""
    return files("convrag_web").joinpath("view", name).read_text(encoding="utf-8")


@cache
def bundle_modules(entry: str) -> str:
    """Join a module of view/ and all that it imports into one script.

    Raises:
        ValueError: a module has a form that is not allowed here.
    """
    functions: dict[str, str] = {}
    _add_module(entry, functions)
    return "\n".join(functions.values())


def _add_module(name: str, functions: dict[str, str]) -> None:
    """Add a module as a function that returns its exports, after the modules that it imports."""
    if name in functions:
        return
    text = read_view_file(name)
    for found in _IMPORT.finditer(text):
        _add_module(f"{found['module']}.js", functions)
    exported = [found["function"] or found["constant"] for found in _EXPORT.finditer(text)]
    body = _IMPORT.sub(r"const { \g<names> } = \g<module>_js;", text)
    body = _EXPORT.sub("", body)
    odd = _OTHER.search(body)
    if odd:
        raise ValueError(f"view/{name}: {odd[0]!r} cannot be bundled")
    stem = PurePath(name).stem
    returned = f"return {{ {', '.join(exported)} }};"
    functions[name] = f"const {stem}_js = (() => {{\n{body}\n{returned}\n}})();"
