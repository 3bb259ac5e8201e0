"""Manual pages: the macros of man(7) and mdoc(7) as headings, terms and text."""

import time

import pytest

from convrag import Document
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader


def read(text: str, name: str = "boats.1", *, named: bool = False) -> Document:
    reader = find_reader(FoundFile(name, name, named))
    assert reader is not None
    (document,) = reader.read(text.encode())
    return document


MAN = r"""'\" t
.\" A comment
.if n .ad l
.ie \n(.g .ds Aq \(aq
.el       .ds Aq '
.de XX
.B hidden
..
.TH BOATS 1 "May 2026" "boats 3"
.SH NAME
boats \- list the boats of a port
.SH "SYNOPSIS"
.B boats
.RB [ \-v ]
.I PORT
.SH
OPTIONS
.TP
\fB\-v\fR, \fB\-\-verbose\fR
Say more,
and more.
.IP "\fB\-\-out\fP=\fIFILE\fP" 4
Write to a file.
.IP \(bu 2
An item.
.SS Old options
.PP
Caf\['e] \(lqquoted\(rq 5\(mu3 \s-1SMALL\s0 it\*(Aqs.
.nf
  one \-x
    two
.fi
.TS
tab(;) box;
l l.
port;n
_
Hull;12
Bath;T{
3 or
more
T}
T{
Deal
T};7
.TE
"""


def test_a_page_of_man():
    document = read(MAN)
    assert document.title == "boats(1)"
    found = [(heading.level, heading.text) for heading in document.headings]
    assert found == [
        (1, "NAME"),
        (1, "SYNOPSIS"),
        (1, "OPTIONS"),
        (2, "Old options"),
    ]
    for heading in document.headings:
        assert document.text[heading.start :].startswith(heading.text)
    assert document.text.split("\n\n") == [
        "NAME",
        "boats - list the boats of a port",
        "SYNOPSIS",
        "boats [-v] PORT",
        "OPTIONS",
        "-v, --verbose: Say more, and more.",
        "--out=FILE: Write to a file.",
        "- An item.",
        "Old options",
        "Cafe\u0301 “quoted” 5×3 SMALL it's.",
        "```\n  one -x\n    two\n```",
        "port: Hull; n: 12\nport: Bath; n: 3 or more\nport: Deal; n: 7",
    ]


def test_a_page_of_mdoc():
    document = read(
        """.Dd May 1, 2026
.Dt BOATS 8
.Os
.Sh NAME
.Nm boats
.Nd list boats
.Sh SYNOPSIS
.Nm
.Op Fl abc
.Op Fl o Ar file
.Op Fl Fl long
.Ar port ...
.Sh DESCRIPTION
See
.Xr ksh 1 ,
.Dq two words ,
and
.Pa /etc/boats .
.Bl -tag -width x
.It Fl a
All of them.
.It Ev HOME
The home
.Pq of Fl a .
.El
"""
    )
    assert document.title == "boats(8)"
    assert document.text.split("\n\n") == [
        "NAME",
        "boats - list boats",
        "SYNOPSIS",
        "boats [-abc] [-o file] [--long] port ...",
        "DESCRIPTION",
        "See ksh(1), “two words”, and /etc/boats.",
        "-a: All of them.",
        "HOME: The home (of -a).",
    ]


@pytest.mark.parametrize("name", ["app.log.1", "release.2", "x.man"])
def test_a_text_with_the_suffix_of_a_page(name):
    with pytest.raises(Unreadable, match="it is not a manual page"):
        read("Boats leave.\n", name)
    assert read("Boats leave.\n", name, named=True).text == "Boats leave.\n"
    assert read(MAN, name, named=True).title == "boats(1)"


@pytest.mark.parametrize(
    "line",
    ["\\", "\\f", "\\(", "\\['", ".Op ", '.B "', ".TP\n", ".TS\n", ".de\n", "\\*[" * 100, "a\\s-"],
)
def test_hostile_text_takes_time_in_proportion(line):
    text = f".TH A 1\n{line * 5_000}\n{(line + chr(10)) * 1_000}"
    start = time.process_time()
    assert len(read(text).text) < 3 * len(text)
    assert time.process_time() - start < 15
