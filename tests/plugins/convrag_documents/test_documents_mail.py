"""Mails as people have them: wrong encodings, several texts, mails in mails, and what is left out."""

import base64
import time
from email.message import EmailMessage

import pytest

from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader
from convrag_documents.readers.mail_encodings import find_encoding


def read(content: bytes):
    """The document, and the reason why a part of the mail was not read."""
    reader = find_reader(FoundFile("a.eml", "a.eml"))
    documents = []
    try:
        documents.extend(reader.read(content))
    except Unreadable as error:
        return documents[0], error.reason
    return documents[0], ""


def read_body(content: bytes) -> str:
    """The text after the fields of the header."""
    document, reason = read(content)
    assert reason == ""
    return document.text.partition("\n\n")[2]


def make(kind: str, body: bytes, *fields: str) -> bytes:
    header = "\n".join(["Subject: Keys", "MIME-Version: 1.0", f"Content-Type: {kind}", *fields])
    return header.encode("utf-8") + b"\n\n" + body


def make_parts(kind: str, *parts: tuple[str, str | bytes]) -> bytes:
    body = b""
    for part_kind, text in parts:
        content = text if isinstance(text, bytes) else text.encode()
        body += f"--B\nContent-Type: {part_kind}\n\n".encode() + content + b"\n"
    return make(f"multipart/{kind}; boundary=B", body + b"--B--\n")


GERMAN = "Die Schlüssel liegen im Büro bei Frau Möller, und zwar für das Gebäude."
HEBREW = "המפתחות במשרד"
CYRILLIC = "Ключи от склада лежат в конторе у Марины Ивановны."
JAPANESE = "鍵は事務所にあります。"


class TestEncodings:
    @pytest.mark.parametrize(
        ("declared", "used", "text"),
        [
            ("iso-8859-8-i", "iso-8859-8", HEBREW),
            ("iso-8859-8-e", "iso-8859-8", HEBREW),
            ("utf-8mb4", "utf-8", GERMAN),
            ("utf8_unicode_ci", "utf-8", GERMAN),
            ('"utf-8;"', "utf-8", GERMAN),
            ("iso-8859-1", "cp1252", "5 € – „gut“"),
            ("iso-8859-1", "utf-8", GERMAN),  # wrong
            ("us-ascii", "latin-1", GERMAN),  # wrong
            ("utf-8", "latin-1", GERMAN),  # wrong
            ("unknown-8bit", "cp1251", CYRILLIC),
            ("x-nosuch", "utf-8", GERMAN),
            ("koi8-r", "koi8-r", CYRILLIC),
            ("windows-1251-x", "cp1251", CYRILLIC),
            ("iso-2022-jp", "iso-2022-jp", JAPANESE),
            ("shift_jis", "cp932", JAPANESE),
            ("utf-7", "utf-7", GERMAN),
            ("gb2312", "gb18030", "钥匙在办公室。"),
        ],
    )
    @pytest.mark.parametrize("transfer", ["8bit", "base64"])
    def test_declared(self, declared: str, used: str, text: str, transfer: str) -> None:
        body = text.encode(used)
        if transfer == "base64":
            body = base64.encodebytes(body)
        mail = make(
            f"text/plain; charset={declared}", body, f"Content-Transfer-Encoding: {transfer}"
        )
        assert read_body(mail) == text

    def test_utf_16(self) -> None:
        body = base64.encodebytes(GERMAN.encode("utf-16-le"))
        mail = make("text/plain; charset=utf-16le", body, "Content-Transfer-Encoding: base64")
        assert read_body(mail) == GERMAN

    @pytest.mark.parametrize(
        ("used", "text"),
        [("utf-8", GERMAN), ("latin-1", GERMAN), ("cp1251", CYRILLIC), ("utf-8-sig", GERMAN)],
    )
    def test_none_is_declared(self, used: str, text: str) -> None:
        assert read_body(make("text/plain", text.encode(used))) == text
        assert read_body(b"Subject: Keys\n\n" + text.encode(used)) == text

    def test_a_page_declares_its_own(self) -> None:
        page = f"<head><meta charset=windows-1251></head><p>{CYRILLIC}</p>".encode("cp1251")
        assert read_body(make("text/html", page)) == CYRILLIC
        assert read_body(make("text/html; charset=x-nosuch", page)) == CYRILLIC
        page = f'<meta http-equiv=Content-Type content="text/html; charset=koi8-r"><p>{CYRILLIC}'
        assert read_body(make("text/html; charset=us-ascii", page.encode("koi8-r"))) == CYRILLIC

    def test_the_header_comes_before_the_page(self) -> None:
        """A server that converts a page does not change what the page says of itself."""
        page = f"<meta charset=iso-8859-5><p>{CYRILLIC}</p>".encode("cp1251")
        assert read_body(make("text/html; charset=windows-1251", page)) == CYRILLIC

    @pytest.mark.parametrize(
        ("name", "found"),
        [
            ("ISO-8859-8-I", "iso8859-8"),
            ("utf8mb4", "utf-8"),
            ("x-gbk", "gb18030"),
            ("cp-850", "cp850"),
            ("latin-1", "cp1252"),
            ("iso-8859-12", ""),
            ("unicode_escape", ""),
            ("", ""),
            ("é\0", ""),
        ],
    )
    def test_names(self, name: str, found: str) -> None:
        assert find_encoding(name) == found

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
    def test_a_byte_order_mark_before_the_header(self, encoding: str) -> None:
        mail = f"Subject: Keys\nFrom: Ada\n\n{GERMAN}\n".encode(encoding)
        document, _ = read(mail)
        assert (document.title, document.text) == (
            "Keys",
            f"From: Ada\nSubject: Keys\n\n{GERMAN}",
        )


class TestHeaders:
    @pytest.mark.parametrize(
        ("subject", "title"),
        [
            (b"=?utf-8?q?Schl=C3=BCssel_im_B=C3=BCro?=", "Schlüssel im Büro"),
            (b"=?utf-8mb4?B?U2NobMO8c3NlbA==?=", "Schlüssel"),
            (b"=?iso-8859-8-i?Q?=E4=EE=F4=FA=E7=E5=FA?= (2)", "המפתחות (2)"),
            (b"=?x-nosuch?Q?Schl=C3=BCssel?=", "Schlüssel"),
            (b"=?utf-8?q?Schl=C3?=\n =?utf-8?q?=BCssel?=", "Schlüssel"),
            (b"=?utf-8?q?a?= =?iso-8859-1?q?=E4?= c", "aä c"),
            (b"=?utf-8*de?Q?Schl=C3=BCssel?=", "Schlüssel"),
            (b"=?utf-8?B?U2NobMO8c3Nlb?=", "Schlüsse"),
            ("Schlüssel für C:\\users".encode(), "Schlüssel für C:\\users"),
            ("Die Schlüssel für das Büro".encode("latin-1"), "Die Schlüssel für das Büro"),
            (b"=?utf-8?q?broken", "=?utf-8?q?broken"),
            (b"a\n b", "a b"),
        ],
    )
    def test_subject(self, subject: bytes, title: str) -> None:
        document, reason = read(b"Subject: " + subject + b"\n\nText.\n")
        assert (document.title, reason) == (title, "")
        assert document.text == f"Subject: {title}\n\nText."

    def test_names_of_people(self) -> None:
        document, _ = read("From: =?latin-1?q?J=F6rg?= <j@b.example>\nTo: Möller\n\nx".encode())
        assert document.text == "From: Jörg <j@b.example>\nTo: Möller\n\nx"

    def test_blank_lines_before_the_header(self) -> None:
        assert read(b"\r\n\r\nSubject: Keys\r\n\r\nText.\r\n")[0].title == "Keys"

    def test_a_line_of_a_mailbox_before_the_header(self) -> None:
        mail = b"From ada@b.example Tue Mar  3 10:00:00 2026\nSubject: Keys\n\nText.\n"
        assert read(mail)[0].text == "Subject: Keys\n\nText."


class TestParts:
    @pytest.mark.parametrize("blank", ["", " \n", "\u200b", "\ufeff\n"])
    def test_a_blank_plain_text_next_to_a_page(self, blank: str) -> None:
        mail = make_parts(
            "alternative",
            ("text/plain; charset=utf-8", blank),
            ("text/html; charset=utf-8", "<p>The keys are with Ms Moller.</p>"),
        )
        assert read_body(mail) == "The keys are with Ms Moller."

    def test_a_plain_text_next_to_a_page(self) -> None:
        parts = [("text/html", "<p>As a page.</p>"), ("text/plain", "As text.")]
        assert read_body(make_parts("alternative", *parts)) == "As text."

    def test_a_blank_page_next_to_a_plain_text(self) -> None:
        parts = [("text/plain", "As text."), ("text/html", "<p>&nbsp;</p>")]
        assert read_body(make_parts("alternative", *parts)) == "As text."

    def test_a_page_with_pictures_next_to_a_blank_text(self) -> None:
        related = make_parts("related", ("text/html", "<p>Hello.</p>"), ("image/png", "x"))
        inner = related.partition(b"boundary=B\n\n")[2].replace(b"--B", b"--C")
        mail = make_parts(
            "alternative", ("text/plain", ""), ("multipart/related; boundary=C", inner)
        )
        document, reason = read(mail)
        assert document.text.endswith("Hello.")
        assert reason == "what is attached is not read: image/png"

    def test_an_invitation_next_to_its_text(self) -> None:
        mail = make_parts(
            "alternative", ("text/plain", "Come at noon."), ("text/calendar", "BEGIN:VCALENDAR")
        )
        document, reason = read(mail)
        assert document.text.endswith("Come at noon.")
        assert reason == "what is attached is not read: text/calendar"

    def test_several_texts(self) -> None:
        mail = make_parts(
            "mixed", ("text/plain", "One."), ("text/html", "<p>Two.</p>"), ("text/plain", "Three.")
        )
        assert read_body(mail) == "One.\n\nTwo.\n\nThree."

    def test_a_mail_that_was_forwarded(self) -> None:
        inner = EmailMessage()
        inner["Subject"], inner["From"] = "Old keys", "Bo <bo@b.example>"
        inner.set_content("They are lost.")
        inner.add_attachment(b"x", maintype="image", subtype="png", filename="key.png")
        mail = EmailMessage()
        mail["Subject"] = "Fwd: Old keys"
        mail.set_content("See below.")
        mail.add_attachment(inner)
        document, reason = read(mail.as_bytes())
        assert document.title == "Fwd: Old keys"
        assert document.text == (
            "Subject: Fwd: Old keys\n\nSee below.\n\nOld keys\n\n"
            "From: Bo <bo@b.example>\nSubject: Old keys\n\nThey are lost."
        )
        assert [heading.text for heading in document.headings] == ["Old keys"]
        assert reason == "what is attached is not read: key.png"

    def test_a_mail_alone_in_a_mail(self) -> None:
        mail = make("message/rfc822", b"Subject: Inner\n\nThe text.\n")
        assert read_body(mail).endswith("Subject: Inner\n\nThe text.")

    def test_a_report_of_a_mail_that_was_not_delivered(self) -> None:
        mail = make_parts(
            "report; report-type=delivery-status",
            ("text/plain", "It failed."),
            ("message/delivery-status", "Reporting-MTA: dns; b.example\n\nStatus: 5.1.1\n"),
        )
        assert read_body(mail) == "It failed.\n\nReporting-MTA: dns; b.example\n\nStatus: 5.1.1"

    @pytest.mark.parametrize("kind", ["multipart/mixed", "multipart/mixed; boundary=other"])
    def test_a_missing_boundary(self, kind: str) -> None:
        body = b"--B\nContent-Type: text/plain\n\nOne.\n--B\nContent-Type: image/png\n\nx\n--B--\n"
        document, reason = read(make(kind, body))
        assert document.text == "Subject: Keys\n\nOne."
        assert reason == "what is attached is not read: image/png"

    def test_a_missing_boundary_in_a_mail_without_parts(self) -> None:
        assert read_body(make("multipart/mixed", b"Only text.\n")) == "Only text."

    def test_an_end_that_is_missing(self) -> None:
        mail = make_parts("mixed", ("text/plain", "One.")).replace(b"--B--\n", b"")
        assert read_body(mail) == "One."

    def test_attachments_are_listed(self) -> None:
        mail = EmailMessage()
        mail["Subject"] = "Keys"
        mail.set_content("Text.")
        for number in range(14):
            name = f"b{number}.pdf" if number < 12 else "Schlüssel.pdf"
            mail.add_attachment(b"x", maintype="application", subtype="pdf", filename=name)
        mail.add_attachment("Notes.", filename="notes.txt")
        document, reason = read(mail.as_bytes())
        assert document.text == "Subject: Keys\n\nText."
        assert reason.startswith("what is attached is not read: b0.pdf, b1.pdf, ")
        assert reason.endswith(" and 5 more")

    def test_an_attachment_whose_name_is_in_an_unknown_encoding(self) -> None:
        disposition = "attachment; filename*=x-nosuch''Schl%C3%BCssel.pdf"
        mail = make("application/pdf", b"x", f"Content-Disposition: {disposition}")
        assert "Schl" in read(mail)[1]

    def test_a_text_that_is_binary(self) -> None:
        mail = make_parts(
            "mixed", ("text/plain", "One."), ("text/plain; name=a", bytes(range(256)))
        )
        document, reason = read(mail)
        assert document.text == "Subject: Keys\n\nOne."
        assert reason == "what is attached is not read: a"

    def test_an_encrypted_mail(self) -> None:
        mail = make("application/pkcs7-mime; name=smime.p7m", b"x")
        assert read(mail)[1] == "what is attached is not read: smime.p7m"


class TestHostile:
    @pytest.mark.parametrize(
        ("mail", "reason"),
        [
            (b"Content-Type: message/rfc822\n\n" * 30_000, "nested more than 20 deep"),
            (
                b"".join(
                    b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (number, number)
                    for number in range(20_000)
                ),
                "nested more than 20 deep",
            ),
            (
                b"Content-Type: multipart/mixed; boundary=B\n\n" + b"--B\n\n\n" * 150_000,
                "more than 5,000 parts",
            ),
        ],
        ids=["mails", "parts", "many"],
    )
    def test_out_of_bounds(self, mail: bytes, reason: str) -> None:
        reader = find_reader(FoundFile("a.eml", "a.eml"))
        start = time.process_time()
        with pytest.raises(Unreadable, match=reason):
            list(reader.read(mail))
        assert time.process_time() - start < 10

    @pytest.mark.parametrize(
        "mail",
        [
            b"Content-Type: text/plain; " + b'a="";' * 200_000 + b"\n\nText.\n",
            b"Content-Disposition: " + b"a*0*=b;" * 150_000 + b"\n\nText.\n",
            b"Subject: " + b"=?utf-8?q?a?= " * 70_000 + b"\n\nText.\n",
            b"Subject: " + b"=?" * 500_000 + b"\n\nText.\n",
            b"Subject: " + b"=?u?q?" * 160_000 + b"\n\nText.\n",
            b"A: b\n" * 200_000 + b"\nText.\n",
        ],
        ids=range(6),
    )
    def test_long_headers_take_linear_time(self, mail: bytes) -> None:
        start = time.process_time()
        assert read(mail)[0].text.endswith("Text.")
        assert time.process_time() - start < 10
