"""report.html: the data, the modules and the styles in one file, which may load nothing from anywhere."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any

from convrag.sdk.files import open_atomically
from convrag.sdk.strict_json import format_json

REPORT = "report.html"

LIMIT = 30_000_000
"""Characters of a report that still opens at once and goes into an e-mail. What is above is left out, and said so."""


def write_page(path: Path, title: str, head: Mapping[str, Any], blocks: Mapping[str, str]) -> None:
    """Write a report.

    Args:
        path: of the file.
        title: of the page.
        head: what the page shows first, as plain data.
        blocks: packed data by id; see `convrag_web.report.turn_blocks`.

    Raises:
        OSError: the file cannot be written.
    """
    with open_atomically(path) as file:
        for part in _list_parts(title, head, blocks):
            file.write(part)


def _list_parts(title: str, head: Mapping[str, Any], blocks: Mapping[str, str]) -> Iterator[str]:
    style = read_view_file("turn.css") + read_view_file("report.css")
    script = bundle_modules("report.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        "<noscript>This report needs JavaScript, which is in this file; it loads nothing.</noscript>\n"
    )
    yield f'<script type="text/plain" id="head">{_escape_json(format_json(head))}</script>\n'
    for name, text in blocks.items():
        yield f'<script type="text/plain" id="{escape(name)}">{text}</script>\n'
    yield f'<script type="module">{script}</script>\n</body>\n</html>\n'


def _escape_json(text: str) -> str:
    """JSON without a character that could end the element it stands in, or begin another one."""
    return text.replace("<", "\\u003c").replace("\x00", "\\u0000").replace("\r", "\\r")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"


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
        ValueError: a module has a form that is not allowed here.
    """
    functions: dict[str, str] = {}
    _add_module(entry, functions)
    return "\n".join(functions.values())


def _add_module(name: str, functions: dict[str, str]) -> None:
    if name in functions:
        return
    text = read_view_file(name)
    for found in _IMPORT.finditer(text):
        _add_module(f"{found['module']}.js", functions)
    exported = [found["function"] or found["constant"] for found in _EXPORT.finditer(text)]
    body = _EXPORT.sub("", _IMPORT.sub(r"const { \g<names> } = \g<module>_js;", text))
    if odd := _OTHER.search(body):
        raise ValueError(f"view/{name}: {odd[0]!r} cannot be bundled")
    functions[name] = f"const {PurePath(name).stem}_js = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"
