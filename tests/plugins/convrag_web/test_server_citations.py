"""Citations of OpenAI's replies: their numbers, their annotations, and the pages that these lead
to.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag import Answer, Evidence, EvidenceItem, Passage, TurnRecord
from convrag_web.server.cited_reply import CitedReply
from convrag_web.server.guard import Access
from convrag_web.server.task import ServeTask
from served import RunningServer, serve

PASSAGES = [
    Passage(f"p{number}", f"Text {number} of a passage.", f"Title [{number}]")
    for number in range(1, 6)
]
RECORD = TurnRecord(
    *("c", "t", "default", 1, "q"),
    evidence=Evidence(
        tuple(EvidenceItem(number, each, each.text) for number, each in enumerate(PASSAGES, 1))
    ),
)


def link(domain: str, passage: str) -> str:
    return f"http://h/{domain}/{passage}"


def cite(
    pieces: list[str], *, streamed: bool = True, listed: bool = False
) -> tuple[str, CitedReply]:
    """The answer as it is sent, and the reply at its end."""
    reply = CitedReply(link, listed=listed)
    if streamed:
        reply.note_evidence(RECORD)
    sent = "".join(map(reply.add, pieces))
    return sent + reply.end(RECORD), reply


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ("One [1]. Five [5], four [4, 5].", "One [1]. Five [2], four [3, 2]."),
        ("Five [5][5] [ 4 ; 5 ].", "Five [1][1] [2, 1]."),
        ("Nobody's [9], five [5, 9]. A year [2019] .", "Nobody's, five [1]. A year ."),
        (
            "Code `a[5]` and ```\nb[4]\n``` and four [4].",
            "Code `a[5]` and ```\nb[4]\n``` and four [1].",
        ),
        ("Open `a [5]\nand ``` b [4]", "Open `a [1]\nand ``` b [2]"),
        ("Empty `` a[5] `` and ``` open [4", "Empty `` a[1] `` and ``` open [4"),
        ("Two  [ not a mark [5 ] end  ", "Two  [ not a mark [1] end  "),
    ],
)
def test_numbers_count_from_one_however_the_answer_is_cut(answer: str, sent: str) -> None:
    whole, reply = cite([answer])
    assert whole == reply.text == sent
    for size in range(1, 5):
        pieces = [answer[start : start + size] for start in range(0, len(answer), size)]
        for streamed in (False, True) if "9" not in answer else (True,):
            again, other = cite(pieces, streamed=streamed)
            assert (again, other.annotations) == (whole, reply.annotations)
    numbers: dict[str, int] = {}
    for each in reply.annotations:
        number = numbers.setdefault(each["url"], len(numbers) + 1)
        assert str(number) in re.findall(r"\d+", sent[each["start_index"] : each["end_index"]])


def test_annotations_come_in_the_order_of_numbers_and_then_what_is_cited_again() -> None:
    _, reply = cite(["A [3] b [3] c [1] d [2, 3]."])
    assert [(each["urn"][-2:], each["start_index"]) for each in reply.annotations] == [
        *[("p3", 2), ("p1", 14), ("p2", 20)],
        *[("p3", 8), ("p3", 20)],
    ]


def test_a_list_of_sources_follows_an_answer_that_cites() -> None:
    sent, reply = cite(["A [3] b [1]."], listed=True)
    assert sent == reply.text
    assert sent.splitlines()[4:] == [
        r"1. [Title \[3\]](http://h/default/p3): Text 3 of a passage.",
        r"2. [Title \[1\]](http://h/default/p1): Text 1 of a passage.",
    ]
    assert cite(["No source."], listed=True)[0] == "No source."


def test_a_turn_may_cite_by_the_numbers_of_its_conversation() -> None:
    trace = {"generator": {"numbers": {"p2": 7, "p4": 2}}}
    earlier = [RECORD] * 2
    answer = Answer("x", ("p2", "p4"))
    record = TurnRecord(
        "c", "t", "default", 2, "q", evidence=RECORD.evidence, answer=answer, trace=trace
    )
    reply = CitedReply(link, earlier)
    reply.note_evidence(record)
    assert reply.add("Two [2].") + reply.end(record) == "Two [1]."
    assert reply.annotations[0]["urn"].endswith("p4")


@pytest.fixture
def handbook(tmp_path: Path) -> list[str]:
    (tmp_path / "docs").mkdir()
    annual, sick = (
        "Thirty <b>days</b> of leave in a year. " * 8,
        "A certificate from the third day on. " * 8,
    )
    (tmp_path / "docs/leave.md").write_text(
        f"# Leave\n\n## Annual leave\n\n{annual}\n\n## Sick leave\n\n{sick}\n"
    )
    return ["dataset=documents", f"dataset.path={tmp_path / 'docs'}", "generator=direct"]


ASK = {"role": "user", "content": "How many days of annual leave are there in a year?"}


def find_address(server: RunningServer) -> str:
    url = server.complete(ASK).json()["choices"][0]["message"]["annotations"][0]["url_citation"][
        "url"
    ]
    return str(url).partition("#passage")[0]


def test_an_address_opens_the_document_at_the_passage(tmp_path: Path, handbook: list[str]) -> None:
    with serve(tmp_path, *handbook) as server:
        address = find_address(server)
        page = server.http.get(address)
        assert page.headers["content-type"].startswith("text/html")
        marked = page.text.partition('<mark id="passage">')[2].partition("</mark>")[0]
        assert "## Annual leave\n\nThirty &lt;b&gt;days&lt;/b&gt; of leave" in marked
        assert "certificate" not in marked
        assert "<h1>leave.md</h1>" in page.text
        assert "A certificate from the third day on." in page.text
        (tmp_path / "docs/leave.md").write_text("# Other\n")
        for query in ("&passage=none", "&model=none", "&domain=none"):
            assert server.http.get(address + query).status_code == 404


def test_where_the_server_has_a_token_addresses_are_signed(
    tmp_path: Path, handbook: list[str]
) -> None:
    limits = ServeTask(public_url="https://chat.example.org/rag/")
    access, headers = Access("s3cret", hosts=None), {"Authorization": "Bearer s3cret"}
    with serve(tmp_path, *handbook, limits=limits, access=access, headers=headers) as server:
        address = find_address(server)
        assert address.startswith("https://chat.example.org/rag/source?")
        assert "s3cret" not in address
        del server.http.headers["Authorization"]
        path = f"/source?{urlsplit(address).query}"
        assert server.http.get(path).status_code == 200
        for other in (path.replace("leave.md", "other.md"), path[:-1], path.partition("&key=")[0]):
            assert server.http.get(other).status_code == 401


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[RunningServer]:
    with serve(tmp_path, "generator=direct", limits=ServeTask(sources="text")) as running:
        yield running


def test_a_passage_of_no_document_opens_alone_and_lists_are_left_out_of_the_history(
    sample: RunningServer,
) -> None:
    question = {"role": "user", "content": "How far away is the Moon?"}
    message = sample.complete(question).json()["choices"][0]["message"]
    listed = message["content"].partition("\n\n**Sources**\n\n")[2].splitlines()
    urls = list(dict.fromkeys(each["url_citation"]["url"] for each in message["annotations"]))
    assert [re.findall(r"\((http\S+)\)", line)[0] for line in listed] == urls
    assert '<pre><mark id="passage">' in sample.http.get(urls[0]).text
    streamed = sample.complete(question, stream=True).text
    assert "**Sources**" in streamed
    answer = {"role": "assistant", "content": message["content"]}
    record = sample.complete(
        question, answer, {"role": "user", "content": "And its far side?"}, convrag=True
    ).json()
    assert "Sources" not in str(record["convrag"]["queries"])


def test_the_page_of_a_source_shows_bidirectional_controls_as_signs() -> None:
    """They would show the text in another order than it has."""
    from convrag import Document
    from convrag_web.server.document_view import show_document
    from convrag_web.server.source_page import _format_page

    hostile = "pay \u202e001 ot\u202c \u2066x\u2069 \x1b[2J <b>\r\nnext"
    passage = Passage("p", hostile, title=hostile, url="https://a.example")
    shown = show_document(Document("p", hostile, hostile, ""), passage)
    page = _format_page(passage, shown, original="")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", page)
    assert "pay \ufffd001 ot\ufffd" in page
    assert "&lt;b&gt;" in page
