"""Signs of Markdown that its readers do not see, or see as letters.

* Entities are letters: `R&amp;D`, `&shy;`.
* Attributes of MkDocs, kramdown and Pandoc are not shown: `## Install {#install .wide}`.
* Comments that are links to nowhere are not shown (`[//]: # (note)`), nor are those of MDX.
* `10<sup>6</sup>` is 10⁶.

Code stays as it is.
"""

import html
import re
from collections.abc import Iterator

from convrag import Document
from convrag_documents.readers.raised_text import lower_text, raise_text
from convrag_documents.readers.tidy_text import Edit, edit_document

_CODE = (
    r"(?P<code>^[ \t>]*+(?P<fence>`{3,}+(?=[^`\n]*+\n)|~{3,}+)[^\n]*+\n(?s:.*?)"
    r"(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?<![`\\])(?P<ticks>`++)[^\n]{0,500}?(?<!`)(?P=ticks)(?!`))"
)
"""A block of code between fences, or code within a line."""

_ATTRIBUTE = (
    r"(?:[#.][\w:.-]{1,100}|[\w:-]{1,100}="
    r"(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s{}\"']{1,200}))"
)
_ATTRIBUTES = rf"{{:?[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE})*[ \t]*}}"
_BLANKS = r"(?<![ \t])[ \t]*+"
_HEADING_ATTRIBUTES = re.compile(rf"{_BLANKS}(?:{_ATTRIBUTES}|{{-}})(?=[ \t]*#*[ \t]*$)")
_ENTITY = r"&(?:\#\d{1,7}|\#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,31});"

_SIGN = re.compile(
    rf"{_CODE}"
    rf"|(?P<entity>{_ENTITY})"
    r"|<(?P<script>su[pb])>(?P<moved>[^<>\n]{1,20})</(?P=script)>"
    rf"|(?P<attributes>(?<=[)\]*_`]){_ATTRIBUTES}"
    rf"|{_BLANKS}(?={{:)(?:{_ATTRIBUTES}|{{:[ \t]*(?:toc|no_toc)?[ \t]*}}))",
    re.MULTILINE,
)

_COMMENT = re.compile(
    rf"{_CODE}"
    r"|^[ ]{0,3}\[[^\]\n]{0,100}\]:[ \t]*(?:\#|<>)[ \t]*"
    r"(?:\([^\n]{0,2000}\)|\"[^\n]{0,2000}\"|'[^\n]{0,2000}')[ \t]*(?:\n|\Z)"
    r"|^[ \t]*{/\*(?:(?!{/\*)(?s:.)){0,20000}?\*/}[ \t]*(?:\n|\Z)"
    r"|{/\*(?:(?!{/\*)(?s:.)){0,20000}?\*/}",
    re.MULTILINE,
)

_HEADING_SIGN = re.compile(
    r"(?P<ticks>`++)(?P<code>.{1,500}?)(?P=ticks)(?!`)"
    rf"|(?P<entity>{_ENTITY})"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|</?[A-Za-z][A-Za-z\d-]{0,30}(?:\s[^<>]{0,500})?/?>"
)
"""A sign within a heading: code, an entity, an escape, or a tag of HTML."""


def remove_unseen_comments(text: str) -> str:
    """Return Markdown without comments that are links to nowhere, and without those of MDX."""
    if "]:" not in text and "{/*" not in text:
        return text
    return _COMMENT.sub(lambda found: found["code"] or "", text)


def remove_attributes(heading: str) -> str:
    """Return a heading without the attributes at its end."""
    return _HEADING_ATTRIBUTES.sub("", heading)


def read_heading_signs(heading: str) -> str:
    r"""Return a heading with its entities and escapes as letters, without tags of HTML.

    Example:
        >>> read_heading_signs('<a name="x"></a>R&amp;D, C\\#, `List<T>`')
        'R&D, C#, `List<T>`'
    """

    def read(found: re.Match[str]) -> str:
        if found["code"]:
            return found[0]
        return html.unescape(found["entity"] or "") or found["escaped"] or ""

    return _HEADING_SIGN.sub(read, heading)


def simplify_signs(document: Document) -> Document:
    """Write the entities of a document as letters, and leave out its attributes."""
    edits = {edit.start: edit for edit in _find_heading_attributes(document)}
    ends = {edit.end for edit in edits.values()}
    for edit in _find_signs(document.text):
        if edit.start not in edits and edit.end not in ends:
            edits[edit.start] = edit
    return edit_document(document, edits.values())


def _find_heading_attributes(document: Document) -> Iterator[Edit]:
    text = document.text
    for heading in document.headings:
        end = text.find("\n", heading.start)
        line = text[heading.start : len(text) if end < 0 else end]
        found = _HEADING_ATTRIBUTES.search(line)
        if found:
            yield Edit(heading.start + found.start(), heading.start + found.end(), "")


def _find_signs(text: str) -> Iterator[Edit]:
    """Yield the edits of entities, raised text and attributes outside of code."""
    for found in _SIGN.finditer(text):
        before = text[max(0, found.start() - 1) : found.start()]
        if found["entity"]:
            letters = html.unescape(found["entity"])
            if letters != found["entity"]:
                yield Edit(*found.span(), letters if letters.strip() else " ")
        elif found["script"]:
            move = raise_text if found["script"] == "sup" else lower_text
            yield Edit(*found.span(), move(found["moved"], before))
        elif found["attributes"]:
            yield Edit(*found.span(), "")
