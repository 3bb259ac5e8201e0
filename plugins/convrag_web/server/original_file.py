"""The original file of a document, as `task.originals=true` shows it.

A file is shown only as the file of a document of the data set, never by a path of the request. No
script of a file runs, and none has the page's origin: web pages are in a sandbox, and what browsers
do not show is a download.
"""

import codecs
from hmac import compare_digest
from pathlib import Path, PurePosixPath
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import FileResponse, Response

from convrag_web.server.errors import ERRORS, RequestError
from convrag_web.server.served_model import ServedModel
from convrag_web.server.server_parts import Parts, ServerParts

_SANDBOX = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_PDF_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
"""Without a sandbox, in which Chromium shows no PDF."""

_SHOWN_TYPES = {
    ".pdf": "application/pdf",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
}
_TEXT_SUFFIXES = """.txt .text .log .md .markdown .mdx .rst .rest .adoc .org .csv .tsv .tab .json
    .jsonl .ndjson .eml .ipynb .py .js .ts .java .c .h .go .rs .sh .sql .yaml .yml .toml .ini"""
_SHOWN_AS_TEXT = frozenset(_TEXT_SUFFIXES.split())
_SAMPLE = 65_536
"""Bytes of a text from which its encoding is known."""

_PURPOSE = "original"
"""Signed with an address, so that the address of a passage's page opens no file."""

router = APIRouter(responses=ERRORS, tags=["Conversations"])


@router.get("/original", response_class=Response)
def show_original(parts: Parts, model: str, domain: str, document: str, key: str = "") -> Response:
    """Show the file of a document. `key` is the server's signature."""
    if not parts.options.originals:
        message = "this server shows no original files (task.originals=true shows them)"
        raise RequestError(404, message, code="not_found")
    signature = _sign(parts, model, domain, document)
    if not compare_digest(key.encode(), signature.encode()):
        raise RequestError(
            401,
            "the address of this file is not one that the server gave, or its token has changed "
            "since",
            type="authentication_error",
            code="invalid_key",
        )
    file = _find_file(parts.models.find(model), domain, document)
    if file is None:
        message = "the document is no longer in the data set, or has no file"
        raise RequestError(404, message, param="document", code="no_document")
    return _make_reply(file)


def make_original_address(
    parts: ServerParts, model: ServedModel, domain: str, document: str
) -> str | None:
    """Return the address of a document's file below the server's own; None if it is not shown."""
    if not parts.options.originals or _find_file(model, domain, document) is None:
        return None
    fields = {"model": model.name, "domain": domain, "document": document}
    key = _sign(parts, model.name, domain, document)
    if key:
        fields["key"] = key
    return f"original?{urlencode(fields, errors='replace')}"


def _sign(parts: ServerParts, model: str, domain: str, document: str) -> str:
    return parts.links.sign(f"{_PURPOSE}\n{model}", domain, document)


def _find_file(model: ServedModel, domain: str, document: str) -> Path | None:
    if domain not in model.data.domains:
        return None
    return model.data.dataset.document_file(domain, document)


def _make_reply(file: Path) -> Response:
    """Make the reply with a file, which a browser shows or downloads."""
    suffix = PurePosixPath(file.name).suffix.lower()
    media_type = _SHOWN_TYPES.get(suffix, "application/octet-stream")
    if suffix in _SHOWN_AS_TEXT:
        media_type = "text/plain; charset=utf-8" if _is_utf8(file) else "text/plain"
    is_shown = suffix in _SHOWN_TYPES or suffix in _SHOWN_AS_TEXT
    reply = FileResponse(
        file,
        media_type=media_type,
        filename=file.name.encode("utf-8", "replace").decode(),
        content_disposition_type="inline" if is_shown else "attachment",
    )
    reply.headers["Content-Type"] = media_type  # Starlette would add an encoding to any text
    reply.headers["Content-Security-Policy"] = _PDF_POLICY if suffix == ".pdf" else _SANDBOX
    reply.headers["Cache-Control"] = "no-store"
    return reply


def _is_utf8(file: Path) -> bool:
    """Whether a text begins as UTF-8; browsers guess any other encoding."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with file.open("rb") as opened:
            decoder.decode(opened.read(_SAMPLE))
    except (OSError, UnicodeDecodeError):
        return False
    return True
