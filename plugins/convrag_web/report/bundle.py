"""The modules of view/ as one script: a page that is opened from disk may not import files (browsers refuse it).

Each module becomes a function that returns what it exports, after those that it imports:

    const answer_js = (() => {
    const { make } = dom_js;
    function renderAnswer(...) {...}
    return { renderAnswer };
    })();

For that, modules of view/ keep to two forms, each on a line of its own: `import { a, b } from "./x.js";` and `export`
before a function or a constant. An import map with data: or blob: addresses would need these in the
Content-Security-Policy, where they would allow any script.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import PurePath

_IMPORT = re.compile(r'^import \{ (?P<names>\w+(?:, \w+)*) \} from "\./(?P<module>\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function (?P<function>\w+)|const (?P<constant>\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*|</script|<!--", re.MULTILINE | re.IGNORECASE)


def read_view_file(name: str) -> str:
    """Read a file of view/."""
    return files("convrag_web").joinpath("view", name).read_text(encoding="utf-8")


@cache
def bundle_modules(entry: str) -> str:
    """Join a module of view/ and all that it imports into one script.

    Raises:
        ValueError: a module has a form that is not allowed here, or imports itself by a detour.
    """
    functions: dict[str, str] = {}
    _add_module(entry, functions, ())
    return "\n".join(functions.values())


def _add_module(name: str, functions: dict[str, str], importing: tuple[str, ...]) -> None:
    if name in functions:
        return
    if name in importing:
        raise ValueError(f"view/{name} imports itself: {' -> '.join([*importing, name])}")
    text = read_view_file(name)
    for found in _IMPORT.finditer(text):
        _add_module(f"{found['module']}.js", functions, (*importing, name))
    exported = [found["function"] or found["constant"] for found in _EXPORT.finditer(text)]
    body = _EXPORT.sub("", _IMPORT.sub(r"const { \g<names> } = \g<module>_js;", text))
    if odd := _OTHER.search(body):
        raise ValueError(f"view/{name}: {odd[0]!r} cannot be bundled")
    functions[name] = f"const {PurePath(name).stem}_js = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"
