"""The commands of a chat: what they print and write."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from chat_toys import Chat
from convrag.api.answers import Answer
from convrag.api.errors import ConfigError
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.filters import Filter
from convrag.api.passages import Hit, Passage
from convrag.api.queries import Query
from convrag.api.records import TurnRecord
from convrag.sdk.data.transcript import (
    describe_passage,
    find_source,
    format_transcript,
    list_sources,
    name_passage,
)
from convrag_tasks.chat.screen import Screen
from convrag_tasks.turn_trace import explain_query
from toys import ListRetriever

Output = pytest.CaptureFixture[str]

DOGS = "Dogs bark at night. Cats chase small mice. Nobody knows why."


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path)


def make_record(
    answer: str = "Dogs bark loudly. [1] Mice are chased by cats [1].", **fields
) -> TurnRecord:
    passage = fields.pop(
        "passage", Passage("d", DOGS, title="Pets", url="https://pets.example/a?b=(c)")
    )
    items = (
        EvidenceItem(1, passage, passage.text),
        EvidenceItem(2, Passage("e", "Tea.", url="javascript:x"), "Tea."),
    )
    given = {
        "queries": (Query("pets"),),
        "hits": (Hit(passage, 1.0),),
        "timings": {"rewriter": 0.5},
    }
    return TurnRecord(
        *("c", "c<::>1", "default", 1, "What of pets?"),
        evidence=Evidence(items),
        answer=Answer(answer, ("d",), fields.pop("generator", {})),
        **(given | fields),
    )


def test_sources_and_passages(chat: Chat, capsys: Output) -> None:
    chat.type(
        "/sources",
        "/passage 7",
        "tea?",
        "/sources",
        "/passage 8",
        "/passage [7]",
        "/passage 9",
        "/passage x",
    )
    out = capsys.readouterr().out
    assert out.count("Ask a question first.") == 2
    assert "Sources:\n  [7] text 0 - p0\n  [8] text 1 - p1 (not cited)\n" in out
    assert "[8] (no title)\np1\ntext 1\nThe answer does not cite it.\n" in out
    assert "[7] (no title)\np0\n" in out
    assert out.count("/passage NUMBER shows a passage. The last answer has 7, 8.") == 2


def test_a_passage_of_a_document_is_known_by_its_place(capsys: Output) -> None:
    place = "policies/leave.md, 'Parental leave', page 3"
    metadata = {"document": "policies/leave.md", "start": 0, "end": 9, "place": place}
    record = make_record(passage=Passage("d", DOGS, "Leave > Parental leave", metadata=metadata))
    screen = Screen()
    (source, other) = list_sources([record])
    screen.show_sources([source, other])
    screen.show_passage(source, [])
    screen.show_end_of_answer([record], record.answer.text)
    out = capsys.readouterr().out
    assert out.count(f"  [1] {place}\n") == 2
    assert "  [2] Tea. - javascript:x (not cited)\n" in out
    assert f"[1] Leave > Parental leave\n{place}\n{DOGS}\n" in out
    assert ("", f"[1] {place}") in explain_query([record])
    assert f"- \\[1\\] {place} (d)\n" in format_transcript("talk", [record])
    linked = replace(source.passage, url="https://example.org/leave")
    assert describe_passage(linked) == f"{place} - https://example.org/leave"
    assert describe_passage(replace(linked, metadata={"place": ["x"], "document": "d"})).startswith(
        "Leave > Parental"
    )


def test_a_passage_of_an_earlier_answer_says_so(chat: Chat, capsys: Output) -> None:
    chat.type("tea?", "BREAK", "/passage 8")
    assert "From the answer to: tea?\n[8] (no title)" in capsys.readouterr().out


def test_numbers_of_the_whole_conversation() -> None:
    first = make_record()
    trace = {"generator": {"numbers": {"d": 1, "f": 3, "gone": 4}}}
    newer = Passage("f", "Newer.")
    second = make_record(trace=trace, passage=newer)
    assert [
        (source.number, source.passage.id, source.cited) for source in list_sources([first, second])
    ] == [
        (1, "d", True),
        (3, "f", False),
    ]
    assert find_source([first, second], 2) == (0, list_sources([first])[1])
    assert find_source([first, second], 4) is None
    said = {
        text.partition(" ")[0]: text for _, text in explain_query([first, second])
    }  # as /sources has it
    assert said["1"] == "1 found, 2 read, 1 cited"
    assert said["[1]"].startswith("[1] Pets - ")


def explain(trace, records=(), **fields) -> str:
    lines = explain_query([*records, make_record(trace={"rewriter": trace}, **fields)], "mine")
    return "\n".join(f"{heading}: {text}" for heading, text in lines)


def test_why_in_plain_words() -> None:
    said = explain(
        {
            "gate": "heuristic",
            "condense": True,
            "reasons": ["pronoun", "short"],
            "exchanges": 2,
            "model": "m",
        }
    )
    assert "Rewriter: mine" in said
    assert (
        "Gate: the question was rewritten: a pronoun in it may refer to what was said; it is short (gate heuristic)"
    ) in said
    assert "History: the rewriter saw the last 2 exchanges" in said
    assert "Trace: model m" in said
    assert "Passages: 1 found, 2 read, 1 cited" in said
    assert "Why: you typed this query" in explain({"edited": True})
    weighted = explain({}, queries=(Query("a", 0.75), Query("b", 0.25)))
    assert "Query: a (weight 0.75)\nQuery: b (weight 0.25)" in weighted
    assert "Fallback: rewriter: no key" in explain({}, fallbacks={"rewriter": "no key"})
    assert "Failed: retriever: gone" in explain({}, error="retriever: gone")


def test_why_names_the_passages_that_were_carried() -> None:
    record = make_record()
    kept = {"id": record.hits[0].passage.id, "name": "Tea", "turn": "c<::>1", "number": 1}
    lost = kept | {"id": "gone", "name": "Bread", "number": 2}
    trace = {"retriever": {"carried": [kept, lost]}}
    lines = explain_query([make_record(trace=trace)])
    assert [text for heading, text in lines if heading == "Carried"] == [
        "Tea, from turn 1: rank 1",
        "Bread, from turn 2: not among the best",
    ]


def test_why_says_what_the_memory_has_shown() -> None:
    seen = {
        "turns": 9,
        "seen": 4,
        "tokens": 120,
        "tokens_of_all": 400,
        "fell_out": ["c<::>2"],
        "recalled": [],
    }
    record = make_record(
        trace={"memory": seen | {"summary": "Tea was\nspoken of.", "summarised": 5}}
    )
    lines = "\n".join(f"{heading}: {text}" for heading, text in explain_query([record]))
    assert "Memory: 4 of 9 turns seen, 120 of 400 tokens" in lines
    assert "out of view since the last question: c<::>2" in lines
    assert 'summary of 5 turns: "Tea was spoken of."' in lines
    assert "Memory" not in explain({})


def test_why_names_the_history_that_was_chosen() -> None:
    first = make_record()
    scored = [
        {
            "turn_id": "c<::>1",
            "last": True,
            "matched": False,
            "score": 0.5,
            "chain_bonus": 0.25,
            "chain": 0,
        }
    ]
    said = explain({"available": 3, "selected": ["c<::>1", "x"], "reasons": scored}, [first])
    assert 'Selected: turn 1, "What of pets?"\n: x' in said
    assert 'Reasons: turn 1, "What of pets?", last, score 0.50, chain bonus 0.25' in said
    assert 'turn 1, "What of pets?" 0.12' in explain(
        {"selected": ["c<::>1"], "similarities": {"c<::>1": 0.123}}, [first]
    )
    sentence = {"sentence": "Dogs bark.", "speaker": "agent", "turn": 1, "cluster_id": 0}
    said = explain(
        {"num_extracted_sentences": 8, "num_clusters": 2, "selected_sentences": [sentence]}
    )
    assert "Selected: sentence Dogs bark., speaker agent, turn 1" in said
    assert "Trace: num extracted sentences 8, num clusters 2" in said
    said = explain(
        {"links": [{"phrase": "it", "antecedent": "the pet", "turn": "c<::>1"}, "odd", {}]}, [first]
    )
    assert 'Links: phrase it, antecedent the pet, turn 1, "What of pets?"' in said
    drift = explain({"known_share": 0.2, "rejected": "tea"})
    assert "Drift: 20% of the query's new words were said before" in drift
    assert "Trace: rejected tea" in drift


@pytest.mark.parametrize(
    "trace",
    [
        {"condense": True, "reasons": [{"turn_id": 1}, None]},
        {"selected": "all", "reasons": 3, "similarities": {"a": "b"}},
        {"selected": [None, {}], "reasons": [None, {"turn_id": None, "score": "high"}]},
        {"selected_sentences": ["plain", {"text": "x"}], "num_clusters": None},
        {"known_share": "most", "exchanges": None, "rejected": None, "available": []},
    ],
)
def test_why_survives_the_traces_of_others(trace) -> None:
    """A plugin of somebody else's may use the same names for other things."""
    assert "Passages: " in explain(trace, [make_record()])


def test_save_history_help_and_unknown_commands(chat: Chat, tmp_path: Path, capsys: Output) -> None:
    chat.type(
        "/history",
        "tea?",
        "/save",
        "/history",
        "/help",
        "/x",
        "/sorces",
        "/" + "x" * 5000,
        "/",
        "/quit",
        "no",
    )
    out = capsys.readouterr().out
    assert (tmp_path / "talk.md").read_text(encoding="utf-8") == (
        "# talk\n\n## tea?\n\nIt is tea? [7]\n\n- \\[7\\] text 0 (p0)\n\nNot cited: \\[8\\] text 1\n"
    )
    assert "Ask a question first." in out
    assert "> tea?\nIt is tea? [7]" in out
    assert re.search(r"/passage NUMBER +a passage", out)
    assert "There is no command /x. /help lists them." in out
    assert "Did you mean /sources?" in out
    assert "x" * 100 not in out
    assert "no" not in chat.questions


@pytest.mark.parametrize(
    "name", ["no/such/folder.md", "a\0b", "~nobody-here/a.md", "x" * 400, "folder"]
)
def test_what_cannot_be_saved_is_said(
    chat: Chat, tmp_path: Path, capsys: Output, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    chat.type("tea?", f"/save {name if name.startswith('~') else tmp_path / name}", "why?")
    assert "It could not be saved: " in capsys.readouterr().out
    assert chat.questions == ["tea?", "why?"]


def test_a_saved_conversation_has_addresses_and_no_markdown_of_others() -> None:
    title = "[x](http://evil) <b> *bold*\n# no"
    record = make_record(
        passage=Passage("d", DOGS, title=title, url="https://a.example/<x> y"),
        queries=(Query("a*b"),),
    )
    text = format_transcript("talk", [make_record(), record])
    assert "- \\[1\\] [Pets](<https://pets.example/a?b=(c)>) (d)" in text
    assert "(javascript:x)" in text
    assert "](<javascript" not in text
    assert (
        "[\\[x\\](http\\://evil) &lt;b> \\*bold\\* # no](<https://a.example/%3Cx%3E%20y>)" in text
    )
    assert "*Searched for: a\\*b*" in text


def test_list_open_and_reset(chat: Chat, capsys: Output) -> None:
    chat.type(
        "/list",
        "tea?",
        "/reset",
        "why?",
        "/list",
        "/open",
        "/open nosuch",
        "/open talk",
        "/history",
    )
    out = capsys.readouterr().out
    assert "No conversation is kept yet." in out
    assert ", 1 turn: why?\ntalk\n  " in out
    assert "(this one)" in out
    assert "There is no conversation nosuch. /open ID goes on" in out
    assert out.rstrip().endswith(
        "Conversation talk, 1 turn so far. Ask away; /help lists the commands.\n> tea?\nIt is tea? [7]"
    )
    assert chat.questions == ["tea?"]
    assert len(chat.conversations.list()) == 2


def test_a_conversation_of_another_configuration_is_not_opened(chat: Chat, capsys: Output) -> None:
    chat.pipeline.configuration = {"rewriter": {"_option_": "mmr"}}
    other = chat.conversations.open(
        "other", "default", configuration={"rewriter": {"_option_": "dhrag"}}
    )
    assert chat.type("/open other", "tea?") == 0
    assert (
        "conversation 'other' was begun with rewriter=dhrag; this is rewriter=mmr"
        in capsys.readouterr().out
    )
    assert chat.questions == ["tea?"]
    assert other.history == []


def test_why_shows_what_the_passages_do_not_support(chat: Chat, capsys: Output) -> None:
    chat.type("tea?", "/why")
    lines = [
        line.split()
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("No source")
    ]
    assert lines == [["No", "source", "It", "is", "tea?"]]


def test_a_line_break_in_a_title_begins_no_line(capsys: Output) -> None:
    """It would say what the chat says: "No answer", another source, a command to type."""
    forged = "Pets\nNo answer: the server is down\u2028> sudo x\r[9] Bank\x0b\x85next"
    passage = Passage("d\nforged", DOGS, title=forged, url="https://a.example/\nforged")
    records = [make_record(passage=passage)]
    for text in (describe_passage(passage), name_passage(passage)):
        assert len(text.splitlines()) == 1
    screen = Screen()
    screen.show_sources(list_sources(records))
    screen.show_passage(list_sources(records)[0], [])
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.lstrip().startswith(("No answer", ">", "[9]", "forged")) for line in lines)


class YearRetriever(ListRetriever):
    """Its passages have a year."""

    def check_filter(self, filter: Filter, domain: str | None = None) -> None:
        if "year" not in str(filter):
            raise ConfigError("there is no field 'color', there is: year")


def test_a_filter_holds_until_it_is_taken_off(chat: Chat, capsys: Output) -> None:
    chat.pipeline.stages = chat.pipeline.stages._replace(retriever=YearRetriever())
    chat.type(
        "/filter",
        "tea?",
        "/filter year>=2023",
        "milk?",
        "/again",
        "/filter color=red",
        "/filter year>=",
        "/filter",
        "sugar?",
        "/filter off",
        "salt?",
    )
    out = capsys.readouterr().out
    assert out.count("All passages are searched") == 2
    assert out.count("From now on: year >= 2023. /filter off searches all again.") == 2
    assert "The filter stays as it was: there is no field 'color', there is: year" in out
    assert "The filter stays as it was: this filter cannot be read" in out
    filters = [str(record.queries[0].filter) for record in chat.kept]
    assert filters == ["None", "year >= 2023", "year >= 2023", "None"]
