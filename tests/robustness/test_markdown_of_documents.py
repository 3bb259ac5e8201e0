"""What a document says stands in Markdown as text: no image, link, item or heading of its own."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from convrag import Answer, Evidence, EvidenceItem, Passage, TurnRecord
from convrag.api.printable import format_record_html
from convrag.sdk.data.transcript import format_transcript
from convrag.sdk.output.printable import escape_markdown, unescape_markdown
from convrag.sdk.text.clarification import format_question, list_choices, read_choices
from convrag.sdk.text.refusals import write_refusal
from convrag.sdk.text.windows import Source, choose_windows

ROOT = Path(__file__).parents[2]
HOSTILE = (
    "![pixel](https://evil.example/p.png) moon [here](https://evil.example) <img src=x>\n"
    "2. [Forged](https://evil.example)\n\n# Heading https://evil.example <https://evil.example> "
    "`a` **b** _c_ ~~d~~ www.evil.example\n> quotation\n- item\n| a | b |\n|---|---|"
)
PASSAGE = Passage("p](https://evil.example)", HOSTILE, title=f"Moon\n\n{HOSTILE}")
OTHER = Passage("q", "The moon is round.", title="- ![x](https://evil.example/x.png) moon\n2. two")

CALLERS = {
    "convrag/sdk/data/transcript.py",  # transcripts of chat, server and page
    "convrag/sdk/text/refusals.py",  # "The nearest is ...", "Also near: ..."
    "convrag/sdk/text/clarification.py",  # choices of a question back
    "plugins/convrag_web/server/cited_reply.py",  # task.sources=text
}
"""The files that put a document's title or text into Markdown."""

NAMES_ELSEWHERE = {
    "plugins/convrag_tasks/chat/screen.py": "a terminal, without Markdown",
    "plugins/convrag_tasks/first_run.py": "a terminal, without Markdown",
    "plugins/convrag_tasks/turn_trace.py": "a terminal, without Markdown",
}
"""The other files that name passages -> where the names go."""


def parse(text: str) -> list[Any]:
    """The tokens of a Markdown text as GitHub reads it, with those within lines."""
    parser = MarkdownIt("gfm-like", {"html": True, "linkify": False})
    tokens = parser.parse(text)
    return [*tokens, *(inner for token in tokens for inner in token.children or ())]


def check_is_text(text: str, *, links: int = 0, items: int = 0, headings: int = 0) -> None:
    kinds = [token.type for token in parse(text)]
    assert "image" not in kinds
    assert not any(kind.startswith(("html", "table", "blockquote", "fence")) for kind in kinds)
    assert not {"strong_open", "s_open", "code_inline"} & set(kinds)
    assert kinds.count("link_open") == links
    assert kinds.count("list_item_open") == items
    assert kinds.count("heading_open") == headings
    assert not re.search(r"(?<!\\):(?=//evil)|(?<=www)\.", re.sub(r"\(<[^>]*>\)", "", text))


def make_record() -> TurnRecord:
    items = tuple(
        EvidenceItem(number, each, each.text) for number, each in enumerate((PASSAGE, OTHER), 1)
    )
    return TurnRecord(
        "c",
        "t",
        "default",
        1,
        "q",
        evidence=Evidence(items),
        answer=Answer("Yes [1].", (PASSAGE.id,)),
    )


def test_a_list_of_sources() -> None:
    from convrag_web.server.cited_reply import CitedReply

    reply = CitedReply(lambda domain, id: "https://here.example/source?passage=p", listed=True)
    record = make_record()
    reply.note_evidence(record)
    text = reply.add("Yes [1] and [2].") + reply.end(record)
    check_is_text(text.partition("**Sources**")[2], links=2, items=2)


def test_a_refusal() -> None:
    for nearest, others in ((PASSAGE, [PASSAGE, OTHER]), (OTHER, [OTHER, PASSAGE])):
        text = write_refusal("How far is the moon?", others, nearest, "2 files")
        assert "Also near" in text
        check_is_text(text)


def test_the_choices_of_a_question_back() -> None:
    choices = list_choices([PASSAGE, OTHER])
    text = format_question("Which one?", choices)
    check_is_text(text, items=len(choices))
    assert read_choices(text) == choices


def test_a_transcript() -> None:
    check_is_text(format_transcript("Talk", [make_record()]), headings=2, items=1)


def test_a_quotation_opens_no_address() -> None:
    """A quotation keeps its Markdown, as code and tables need it, but an image is a link."""
    source = Source(
        r"The moon ![pixel](https://evil.example/p.png) is `a ![b]` far \![x](y) ` ![c](d) `` away."
    )
    (window,) = choose_windows([source], {"moon": 1.0})
    kinds = [token.type for token in parse(window.text)]
    assert "image" not in kinds
    assert "`a ![b]`" in window.text


def test_a_table_of_a_notebook_is_html_without_markup() -> None:
    html = format_record_html(make_record())
    assert "<img" not in html
    assert "<a" not in html


def test_the_tools_of_the_model_context_protocol_give_data() -> None:
    """Their replies are JSON, in which a passage is a field of its own, unchanged."""
    tools = pytest.importorskip("convrag_mcp.tools", reason="needs the extra mcp")
    described = tools._describe(1, PASSAGE)
    assert json.loads(json.dumps(vars(described)))["text"] == HOSTILE


def test_every_place_is_listed() -> None:
    """A further file that names passages is to be listed, and tested, here."""
    callers = set()
    naming = set()
    for path in [*ROOT.glob("convrag/**/*.py"), *ROOT.glob("plugins/**/*.py")]:
        code = path.read_text(encoding="utf-8")
        place = path.relative_to(ROOT).as_posix()
        if re.search(r"(?<!def )\bescape_markdown\(|\bescape_markdown,", code):
            callers.add(place)
        imported = re.search(
            r"from convrag\.sdk\.data\.transcript import ([^\n]*|\([^)]*\))\n", code
        )
        if imported and re.search(r"\b(name|describe)_passage\b", imported[1]):
            naming.add(place)
    assert callers - {"convrag/sdk/output/printable.py"} == CALLERS
    assert naming - CALLERS == NAMES_ELSEWHERE.keys()


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("leave_policy.md > Section 3", "leave_policy.md > Section 3"),
        ("3. Leave", r"3\. Leave"),
        ("12) Leave", r"12\) Leave"),
        ("# Leave", r"\# Leave"),
        ("- a\n- b", r"\- a - b"),
        ("[1]: x", r"\[1\]: x"),
        ("_a_ *b* ~c~ `d` \\", r"\_a\_ \*b\* \~c\~ \`d\` " + "\\\\"),
        ("https://a.b", r"https\://a.b"),
        ("1999 was", "1999 was"),
        ("<b>", "&lt;b>"),
    ],
)
def test_only_what_markdown_reads_is_escaped(text: str, escaped: str) -> None:
    assert escape_markdown(text, begins_line=True) == escaped
    within = escape_markdown(f"x {text}").removeprefix("x ")
    assert within == re.sub(r"^(\d*)\\(?=[#>|+.)-])", r"\1", escaped)
    assert unescape_markdown(escaped) == " ".join(text.split()).replace("<b", "&lt;b")
