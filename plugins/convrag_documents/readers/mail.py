"""Mails, as files of one mail (.eml)."""

from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import MIMEPart

from convrag import Document
from convrag_documents.readers.html import read_html
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.readers.wrapped_lines import join_wrapped_lines
from convrag_documents.unreadable import Unreadable

_SHOWN_FIELDS = ("From", "To", "Date", "Subject")


def read_mail(content: bytes) -> Iterator[Document]:
    """Read a mail, with its subject as the title.

    Raises:
        Unreadable: it has attachments, which are not read.
    """
    message = message_from_bytes(content, policy=policy.default)
    builder = TextBuilder()
    builder.title = str(message["subject"] or "")
    lines = [f"{name}: {message[name]}" for name in _SHOWN_FIELDS if message[name]]
    builder.add("\n".join(lines))
    body = message.get_body(("plain", "html"))
    if body is not None:
        document = _read_body(body)
        builder.add(document.text, document.headings)
    yield builder.build()
    attachments = [
        part.get_filename() or part.get_content_type() for part in message.iter_attachments()
    ]
    if attachments:
        raise Unreadable(f"what is attached is not read: {', '.join(attachments)}")


def _read_body(body: MIMEPart) -> Document:
    text = body.get_content()
    if body.get_content_subtype() == "html":
        return next(read_html(text.encode()))
    return Document("", join_wrapped_lines(text))
