"""report.html as a file: packed blocks of data, with the modules and styles that show them."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from convrag.sdk.data.strict_json import format_json
from convrag.sdk.files import open_atomically
from convrag_web.report.bundle import bundle_modules, read_view_file

REPORT = "report.html"

LIMIT = 30_000_000
"""The characters of a report that still opens at once and goes into an e-mail.

If there is more, the report leaves records out, and says so.
"""


def write_page(path: Path, title: str, head: Mapping[str, Any], blocks: Mapping[str, str]) -> None:
    """Write a report.

    Args:
        path: the path of the file.
        title: the title of the page.
        head: the data that the page shows first.
        blocks: packed data by id; see `turn_blocks`.

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
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        "<noscript>This report needs JavaScript, which is in this file; it loads nothing."
        "</noscript>\n"
    )
    yield f'<script type="text/plain" id="head">{_escape_json(format_json(head))}</script>\n'
    for name, text in blocks.items():
        yield f'<script type="text/plain" id="{escape(name)}">{text}</script>\n'
    yield f'<script type="module">{script}</script>\n</body>\n</html>\n'


def _escape_json(text: str) -> str:
    """Escape the characters of JSON that could end its element or begin another one."""
    return text.replace("<", "\\u003c").replace("\x00", "\\u0000").replace("\r", "\\r")


def _hash(text: str) -> str:
    """Return the hash of an element's text, as a content security policy names it."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"
