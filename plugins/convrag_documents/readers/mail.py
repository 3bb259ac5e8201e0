"""Mails, as files of one mail (.eml): the texts of their parts, and of the mails in them.

The standard library takes a mail apart. It is asked for bytes alone, since it refuses encodings
with unknown names and replaces what is not in the declared one: bytes become text here, as those of
text files do (`mail_encodings`).
"""

import binascii
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from email.message import Message
from email.parser import BytesParser
from email.policy import Compat32
from itertools import islice
from typing import Any

from convrag import Document
from convrag.sdk.text.encodings import decode, find_declared_encoding
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.html import read_html
from convrag_documents.readers.mail_encodings import decode_mail_text
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.readers.wrapped_lines import join_wrapped_lines

_SHOWN_FIELDS = ("From", "To", "Cc", "Date", "Subject")

_DEEPEST = 20
"""Parts within each other, with the mails in a mail."""

_MOST_PARTS = 5_000
_LONGEST_FIELD = 10_000
"""Characters of a field that describes a part.

The library takes a time for it that grows with the square of its length.
"""

_MOST_NAMED = 10
"""Parts that are named when they were not read; the others are counted."""

_FIELD = re.compile(rb"[!-9;-~]+:")
_UNIX_FROM = b"From "
_BOUNDARY = re.compile(
    r"^--([^\s-][^\n]{0,200}?)[ \t]*\n(?=Content-)", re.MULTILINE | re.IGNORECASE
)
"""A line that begins a part, in a mail whose header does not name its boundary."""

_TEXT_KINDS = ("text/plain", "text/markdown", "text/enriched", "text/rfc822-headers")
_PAGE_KINDS = ("text/html", "application/xhtml+xml")
_OTHER_FORMS = (*_TEXT_KINDS, *_PAGE_KINDS, "text/x-amp-html", "text/watch-html")
"""Kinds of parts that say the same in another form, next to one that was read."""

_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\u00ad"
"""Characters that make no text by themselves: marks of order, and widths of zero."""

_WITHOUT_INVISIBLE = dict.fromkeys(map(ord, _INVISIBLE))

_ENCODED_WORD = re.compile(r"=\?([^?\s]{1,100})\?([bBqQ])\?([^?\n]*)\?=")
_ENCODED_WORDS = re.compile(rf"{_ENCODED_WORD.pattern}(?:\s+{_ENCODED_WORD.pattern})*")


def read_mail(content: bytes) -> Iterator[Document]:
    """Read a mail, with its subject as the title.

    Raises:
        Unreadable: parts of it were not read (attachments, pictures); after the document.
    """
    message = _parse(_clean_beginning(content))
    mail = _Mail()
    mail.builder.title = _read_field(message, "Subject")
    mail.add_fields(message)
    mail.add_part(message)
    yield mail.builder.build()
    if mail.left_out:
        raise Unreadable(f"what is attached is not read: {_list_names(mail.left_out)}")


def _clean_beginning(content: bytes) -> bytes:
    """Return the bytes from the first field of the header on, in an encoding with ASCII in it."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        content = decode(content).encode()
    without_blanks = content.lstrip()
    begins_with_field = _FIELD.match(without_blanks) or without_blanks.startswith(_UNIX_FROM)
    return without_blanks if begins_with_field else content


class _Policy(Compat32):
    """Cuts long fields that describe a part."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Called by the parser for each field."""
        name, value = super().header_source_parse(sourcelines)
        if name.lower().startswith("content-"):
            value = value[:_LONGEST_FIELD]
        return name, value


class _Part(Message):
    """A part that refuses to have parts nested too deeply in it."""

    depth = 0

    def attach(self, payload: Any) -> None:
        """Called by the parser for each part within this one."""
        payload.depth = self.depth + 1
        if payload.depth > _DEEPEST:
            raise Unreadable(f"its parts are nested more than {_DEEPEST} deep")
        super().attach(payload)


class _PartMaker:
    """Makes the parts of one mail, up to a number."""

    def __init__(self) -> None:
        self._made = 0

    def __call__(self, policy: Any) -> _Part:
        """Called by the parser for each part."""
        self._made += 1
        if self._made > _MOST_PARTS:
            raise Unreadable(f"it has more than {_MOST_PARTS:,} parts")
        return _Part(policy=policy)


def _parse(content: bytes) -> Message:
    """Take a mail apart, also one whose header does not name the boundary of its parts."""
    message = _parse_once(content)
    boundary = _find_lost_boundary(message)
    if not boundary:
        return message
    kind = message.get_content_type()
    body = _get_bytes(message)
    described = f'Content-Type: {kind}; boundary="{boundary}"\n\n'.encode("utf-8", "replace")
    parts = _parse_once(described + body)
    if parts.is_multipart():
        message.set_payload(parts.get_payload())
    return message


def _parse_once(content: bytes) -> Message:
    make_part: Any = _PartMaker()
    return BytesParser(make_part, policy=_Policy()).parsebytes(content)


def _find_lost_boundary(message: Message) -> str:
    """Find the boundary in a body that should have parts and has none; empty if there is none."""
    if message.is_multipart() or message.get_content_maintype() != "multipart":
        return ""
    payload = message.get_payload()
    found = _BOUNDARY.search(payload.replace("\r\n", "\n")) if isinstance(payload, str) else None
    return found[1].rstrip() if found and '"' not in found[1] else ""


def _get_bytes(part: Message) -> bytes:
    """Return the contents of a part without its transfer encoding."""
    try:
        content = part.get_payload(decode=True)
    except (ValueError, LookupError, AttributeError):
        content = None
    return content if isinstance(content, bytes) else b""


class _Mail:
    """Puts the text of a mail together.

    Attributes:
        builder: has the text.
        left_out: the names of the parts that were not read.
    """

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.left_out: list[str] = []

    def add_fields(self, message: Message) -> None:
        """Add the fields of a header that people read."""
        fields = [(name, _read_field(message, name)) for name in _SHOWN_FIELDS]
        self.builder.add("\n".join(f"{name}: {value}" for name, value in fields if value))

    def add_part(self, part: Message) -> None:
        """Add the text of a part and of those within it; note what has no text."""
        kind = part.get_content_type()
        if kind == "message/rfc822" and part.is_multipart():
            self._add_inner_mail(part)
        elif kind == "message/delivery-status" and part.is_multipart():
            self._add_status(part)
        elif kind == "multipart/alternative" and part.is_multipart():
            self._add_best(_list_parts(part))
        elif part.is_multipart():
            for each in _list_parts(part):
                self.add_part(each)
        elif _has_text(part):
            self._add_text(part)
        elif _get_bytes(part).strip():
            self.left_out.append(_name_part(part))

    def _add_inner_mail(self, part: Message) -> None:
        """Add a mail that was forwarded, below its subject."""
        for message in _list_parts(part):
            self.builder.add_heading(1, _read_field(message, "Subject"))
            self.add_fields(message)
            self.add_part(message)

    def _add_status(self, part: Message) -> None:
        """Add the report of a mail that was not delivered, which has fields alone."""
        for each in _list_parts(part):
            fields = [f"{name}: {_decode_field(value)}" for name, value in each.raw_items()]
            self.builder.add("\n".join(fields))

    def _add_best(self, forms: Sequence[Message]) -> None:
        """Add the plainest form of several that say the same, unless it is blank."""
        ranked = sorted(forms, key=_rank_form)
        best = next((form for form in ranked if _says_something(form)), None)
        if best is not None:
            self.add_part(best)
        for form in forms:
            says_the_same = best is not None and _is_other_form(form)
            if form is not best and not says_the_same:
                self._leave_out(form)

    def _leave_out(self, part: Message) -> None:
        """Note the parts that were not read, and that have something in them."""
        inner = [each for each in part.walk() if not each.is_multipart()]
        self.left_out += [_name_part(each) for each in inner if _get_bytes(each).strip()]

    def _add_text(self, part: Message) -> None:
        try:
            document = _read_text(part)
        except Unreadable:  # it is binary
            self.left_out.append(_name_part(part))
        else:
            self.builder.add(document.text.strip(_INVISIBLE), document.headings)


def _list_parts(part: Message) -> list[Message]:
    payload = part.get_payload()
    inner = payload if isinstance(payload, list) else []
    return [each for each in inner if isinstance(each, Message)]


def _has_text(part: Message) -> bool:
    """Whether a part is text of the mail, and not a file that is attached to it."""
    if part.get_content_disposition() == "attachment":
        return False
    is_text = part.get_content_type() in (*_TEXT_KINDS, *_PAGE_KINDS)
    has_lost_its_parts = part.get_content_maintype() == "multipart"
    return is_text or has_lost_its_parts


def _read_text(part: Message) -> Document:
    content = _get_bytes(part)
    declared = part.get_content_charset() or ""
    if part.get_content_type() in _PAGE_KINDS:
        text = decode_mail_text(content, declared, find_declared_encoding(content))
        return next(read_html(text.encode("utf-8", "replace")))
    return Document("", join_wrapped_lines(decode_mail_text(content, declared)))


def _rank_form(form: Message) -> int:
    """Rank the forms of a text: plain ones, then those with a page in them, then others."""
    kinds = [part.get_content_type() for part in form.walk()]
    if kinds[0] in _TEXT_KINDS:
        return 0
    return 1 if any(kind in _PAGE_KINDS for kind in kinds) else 2


def _says_something(form: Message) -> bool:
    """Whether there is text in a form, besides characters that are not seen."""
    for part in form.walk():
        if part.is_multipart() or not _has_text(part):
            continue
        try:
            text = _read_text(part).text
        except Unreadable:
            continue
        if text.translate(_WITHOUT_INVISIBLE).strip():
            return True
    return False


def _is_other_form(form: Message) -> bool:
    """Whether a form has nothing in it that the form which was read cannot say."""
    inner = [part for part in form.walk() if not part.is_multipart()]
    return all(part.get_content_type() in _OTHER_FORMS for part in inner)


def _name_part(part: Message) -> str:
    """Return the name of the file that a part is, or its kind."""
    try:
        name = part.get_filename()
    except (ValueError, LookupError, TypeError, AttributeError):  # of a damaged field
        name = None
    return _decode_field(name) if name else part.get_content_type()


def _list_names(names: Sequence[str]) -> str:
    """List parts, each name once with its number: "a.pdf, image/png (3) and 12 more"."""
    counts = Counter(names)
    listed = [
        name if count == 1 else f"{name} ({count})"
        for name, count in islice(counts.items(), _MOST_NAMED)
    ]
    text = ", ".join(listed)
    more = len(names) - sum(islice(counts.values(), _MOST_NAMED))
    return f"{text} and {more} more" if more else text


def _read_field(message: Message, name: str) -> str:
    """Return the text of the first field of a name, in one line; empty if there is none."""
    for each, value in message.raw_items():
        if each.lower() == name.lower():
            return _decode_field(value)
    return ""


def _decode_field(value: Any) -> str:
    """Decode a field: bytes that are not ASCII, and encoded words (=?utf-8?q?J=C3=B6rg?=)."""
    content = str(value).encode("utf-8", "surrogateescape")
    try:
        text = decode_mail_text(content)
    except Unreadable:
        text = content.decode("utf-8", "replace")
    return " ".join(_ENCODED_WORDS.sub(_decode_words, text).split())


def _decode_words(found: re.Match[str]) -> str:
    """Decode encoded words that follow each other; a letter may be divided between two."""
    pieces: list[tuple[str, bytes]] = []
    for charset, method, text in _ENCODED_WORD.findall(found[0]):
        content = _decode_word(method.lower(), text)
        charset = charset.partition("*")[0].lower()  # what follows is a language
        if pieces and pieces[-1][0] == charset:
            content = pieces.pop()[1] + content
        pieces.append((charset, content))
    try:
        return "".join(decode_mail_text(content, charset) for charset, content in pieces)
    except Unreadable:
        return found[0]


def _decode_word(method: str, text: str) -> bytes:
    if method == "q":
        return binascii.a2b_qp(text.encode("utf-8", "replace"), header=True)
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text)
    try:
        return binascii.a2b_base64(letters + "==")
    except binascii.Error:  # a letter too many: it was cut
        return binascii.a2b_base64(letters[:-1] + "==")
