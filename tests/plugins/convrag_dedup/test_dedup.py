"""context=dedup: what is shown, what is hinted at, and that a hint never points at what is not
there.
"""

from typing import Any

import pytest
from hypothesis import given, strategies as st

import toys
from convrag.api.completions import Message
from convrag.api.conversations import Question, Turn
from convrag.api.evidence import Evidence
from convrag.api.passages import Hit, Passage
from convrag.testing import ContextContract
from convrag_basics.contexts import FullContext
from convrag_dedup.context import DedupContext
from convrag_dedup.deduplication import deduplicate, first_by_id, format_block, format_hint
from convrag_dedup.shown_passages import ShownVersions
from convrag_dedup.stats import turn_stats


def passage(name: str, version: int = 0) -> Passage:
    return Passage(
        name, f"What passage {name} says in version {version} of itself.", title=f"Title {name}"
    )


def hits(*names: str) -> list[Hit]:
    return [Hit(passage(name), 1.0 - place / 100) for place, name in enumerate(names)]


def turn(number: int, *names: str) -> Turn:
    return Turn(
        f"c<::>{number}",
        f"Question {number}?",
        f"Answer {number}.",
        tuple(passage(name) for name in names),
    )


def asked(*history: Turn, stage_state: dict[object, dict[str, Any]] | None = None) -> Question:
    return Question(
        "And?",
        "c",
        "c<::>9",
        number=len(history) + 1,
        history=history,
        stage_state={} if stage_state is None else stage_state,
    )


def stage(**options: Any) -> DedupContext:
    return DedupContext(llm=toys.EchoLLM(), **options)


def sent(*names: str) -> list[Message]:
    return [
        Message("user", f"Earlier: {format_block(name, passage(name).content)}\n\nWhy?")
        for name in names
    ]


def shown(evidence: Evidence) -> str:
    """The evidence in short: a hint in brackets."""
    return " ".join(
        f"({item.passage.id})" if item.hint else item.passage.id for item in evidence.items
    )


class TestContract(ContextContract):
    def make(self) -> DedupContext:
        return stage()


class TestBaselineContract(ContextContract):
    def make(self) -> DedupContext:
        return stage(hints=False, only_if_present=False)


def test_the_three_turns_of_ragboosts_documentation() -> None:
    """Retrieved {1, 2, 4}, then {1, 5, 2}, then {3, 5, 6}: in RAGBoost's words."""
    context = stage(only_if_present=False)
    first, second = turn(1, "1", "2", "4"), turn(2, "1", "5", "2")
    assert shown(context.assemble(asked(), hits("1", "2", "4"), [])) == "1 2 4"
    found = context.assemble(asked(first), hits("1", "5", "2"), [])
    assert [item.text for item in found.items] == [
        "Please refer to [Doc_1] in the previous conversation.",
        "Title 5\nWhat passage 5 says in version 0 of itself.",  # its label is the generator's
        "Please refer to [Doc_2] in the previous conversation.",
    ]
    assert shown(context.assemble(asked(first, second), hits("3", "5", "6"), [])) == "3 (5) 6"


def test_a_history_that_was_changed_is_read_anew() -> None:
    context, memory = stage(only_if_present=False), {}
    first, second, third = turn(1, "a"), turn(2, "b"), turn(3, "c")
    assert (
        shown(context.assemble(asked(first, second, third, stage_state=memory), hits("a", "b"), []))
        == "(a) (b)"
    )
    edited = asked(first, turn(2, "d"), third, stage_state=memory)
    assert shown(context.assemble(edited, hits("a", "b", "d"), [])) == "(a) b (d)"
    assert shown(context.assemble(asked(first, stage_state=memory), hits("a", "d"), [])) == "(a) d"


def test_a_hint_needs_the_text_in_the_messages() -> None:
    context, question = stage(), asked(turn(1, "a", "b"))
    found = context.assemble(question, hits("a", "b", "c"), sent("a"))
    assert shown(found) == "(a) b c"
    again = len(passage("b").content.split())
    saved = len(passage("a").content.split()) - len(format_hint("a").split())
    assert found.trace == {
        "num_retrieved": 3,
        "num_novel": 2,
        "num_deduplicated": 1,
        "deduplication_rate": 1 / 3,
        "num_sent_again": 1,
        "tokens_saved": saved,
        "tokens_sent_again": again,
        "missing": [],
        "hints": {"a": "a"},
        "repeated": 0,
    }
    assert shown(context.assemble(question, hits("a", "b"), [])) == "a b"
    half = [Message("user", passage("a").content[:-5])]
    assert shown(context.assemble(question, hits("a"), half)) == "a"


@pytest.mark.parametrize(("message", "hint"), [
    ("[1] {}", "Please refer to [1] in the previous conversation."),
    ("[7] old\n\n[12] {}\n\n[13] new", "Please refer to [12] in the previous conversation."),
    ("Why [7]?\n\n[2] Title [draft]\nA. Author (2024)\n{}", "Please refer to [2] in the previous conversation."),
    ("[Doc_a]: {}", "Please refer to [Doc_a] in the previous conversation."),
])  # fmt: skip
def test_a_hint_names_the_passage_as_the_message_does(message: str, hint: str) -> None:
    messages = [Message("user", message.format(passage("a").content))]
    (item,) = stage().assemble(asked(turn(1, "a")), hits("a"), messages).items
    assert item.text == hint


def test_a_passage_that_begins_with_blank_lines_has_a_label() -> None:
    blank = Passage("a", " \n\n \nText after blank lines.", title="Title")
    messages = [Message("user", f"Why?\n\n[3] other\n\n[4] {blank.content}")]
    (item,) = (
        stage()
        .assemble(asked(Turn("c<::>1", "?", "!", (blank,))), [Hit(blank, 1.0)], messages)
        .items
    )
    assert item.text == "Please refer to [4] in the previous conversation."


def test_a_message_without_a_label_is_pointed_at_by_its_beginning() -> None:
    plain = [Message("user", f"[1] another\n\n{passage('a').content}")]
    (item,) = stage().assemble(asked(turn(1, "a")), hits("a"), plain).items
    assert item.text == f'{format_hint("a")} It begins: "What passage a says in version 0 of"'


def test_ids_are_normalised_and_come_once() -> None:
    history = Turn("c<::>1", "?", "!", (Passage("a ", "Text a."),))
    found = [Hit(Passage(name, f"Text {name.strip()}."), 1.0) for name in (" a", "b", "b ", "a")]
    evidence = stage(only_if_present=False).assemble(asked(history), found, [])
    assert shown(evidence) == "( a) b"
    assert evidence.items[0].text == format_hint("a")
    assert (evidence.trace["num_retrieved"], evidence.trace["repeated"]) == (2, 2)
    assert [item.number for item in evidence.items] == [1, 2]


def test_a_changed_text_is_new_unless_ids_alone_count() -> None:
    changed = [Hit(passage("a", version=2), 1.0)]
    question = asked(turn(1, "a"))
    assert shown(stage(only_if_present=False).assemble(question, changed, [])) == "a"
    assert (
        shown(stage(only_if_present=False, content_hash=False).assemble(question, changed, []))
        == "(a)"
    )


def test_an_old_version_is_told_from_the_new_one() -> None:
    new = Turn("c<::>2", "?", "!", (passage("a", version=2),))
    messages = [
        Message("user", format_block("a", passage("a", version).content)) for version in (0, 2)
    ]
    (item,) = stage().assemble(asked(turn(1, "a"), new), hits("a"), messages).items
    assert item.hint
    assert "version 0" in item.text


def test_what_has_no_text_is_reported() -> None:
    gone = [
        Hit(Passage("gone", "", title="Gone"), 2.0),
        Hit(Passage("blank", " \n"), 1.5),
        *hits("a"),
    ]
    question = asked(Turn("c<::>1", "?", "!", (Passage("gone", ""),)))
    for context in (stage(), stage(only_if_present=False), stage(hints=False)):
        found = context.assemble(question, gone, [Message("user", "Gone")])
        assert shown(found) == "a"
        assert found.trace["missing"] == ["gone", "blank"]
        assert (found.trace["num_retrieved"], found.trace["num_novel"]) == (3, 1)


def test_the_baseline_has_the_same_format_and_no_hint() -> None:
    found = stage(hints=False).assemble(asked(turn(1, "a")), hits("a", "b"), sent("a"))
    assert [item.text for item in found.items] == [passage(name).content for name in "ab"]
    assert found.trace["num_deduplicated"] == 0
    assert found.trace["num_sent_again"] == 1


def test_orders() -> None:
    history = (turn(1, "c", "a"), turn(2, "b", "c"))
    found = hits("x", "b", "y", "a", "c")
    for make in (
        lambda order: stage(order=order, only_if_present=False),
        lambda order: FullContext(order=order),
    ):
        orders = {
            order: make(order).assemble(asked(*history), found, [])
            for order in ("retrieval", "stable", "ends")
        }
        named = {
            order: "".join(item.passage.id for item in evidence.items)
            for order, evidence in orders.items()
        }
        assert named == {"retrieval": "xbyac", "stable": "cabxy", "ends": "xycab"}
        assert all(
            [item.number for item in evidence.items] == [1, 2, 3, 4, 5]
            for evidence in orders.values()
        )


NEAR = "The kettle whistles because steam is forced through two small openings in its lid, " * 3


def test_near_duplicates() -> None:
    history = (Turn("c<::>1", "?", "!", (Passage("old", NEAR + "one two three four"),)),)
    close, far = (
        Passage("new", NEAR + "one two three five"),
        Passage("far", "Green tea is brewed at eighty degrees."),
    )
    found = [Hit(close, 2.0), Hit(far, 1.0)]
    assert shown(stage(only_if_present=False).assemble(asked(*history), found, [])) == "new far"
    near = stage(only_if_present=False, near_duplicate=0.8)
    evidence = near.assemble(asked(*history), found, [])
    assert shown(evidence) == "(new) far"
    assert evidence.items[0].text == format_hint("old")
    assert shown(stage(near_duplicate=0.8).assemble(asked(*history), found, [])) == "new far"
    present = [Message("user", format_block("old", NEAR + "one two three four"))]
    assert shown(stage(near_duplicate=0.8).assemble(asked(*history), found, present)) == "(new) far"
    edited = [Hit(Passage("old", NEAR + "one two three five"), 1.0)]
    assert shown(near.assemble(asked(*history), edited, [])) == "old", (
        "an edited passage must be sent again"
    )


def test_the_place_of_a_text_does_not_matter() -> None:
    history = tuple(turn(n, f"p{n}") for n in range(20))
    texts = [message for n in range(20) for message in sent(f"p{n}")]
    for messages in (
        texts,
        texts[::-1],
        [Message("system", "s"), *texts[3:]],
        [Message("user", str(texts))],
    ):
        for n in (0, 3, 10, 19):
            present = any(passage(f"p{n}").text in message.content for message in messages)
            (item,) = stage().assemble(asked(*history), hits(f"p{n}"), messages).items
            assert item.hint == present


@given(
    st.lists(st.sampled_from(["1", " 1", "2", "3 ", "", "gone"]), max_size=9),
    st.sets(st.sampled_from("123")),
)
def test_no_document_is_lost(ids: list[str], shown: set[str]) -> None:
    texts = {"1": "one", "2": "two", "3": "three", "": "nameless"}
    distinct = first_by_id((each, each) for each in ids)
    assert list(distinct) == list(dict.fromkeys(each.strip() for each in ids))
    assert list(distinct.values()) == [
        next(each for each in ids if each.strip() == key) for key in distinct
    ]
    turn = deduplicate(
        distinct,
        lambda key: format_hint(key) if key in shown else None,
        lambda key: texts.get(key, ""),
    )
    assert sorted([*turn.shown, *turn.missing]) == sorted(distinct)
    assert [*turn.shown] == [key for key in distinct if key not in turn.missing]
    assert set(turn.hinted) == set(turn.shown) & shown
    assert sorted([*turn.novel, *turn.hinted]) == sorted(turn.shown)
    stats = turn_stats(turn)
    assert stats["num_retrieved"] == stats["num_novel"] + stats["num_deduplicated"] + len(
        turn.missing
    )
    assert stats["num_retrieved"] == len(distinct)
    assert 0 <= stats["deduplication_rate"] <= 1


def test_the_versions_of_a_document() -> None:
    versions: ShownVersions[str] = ShownVersions()
    assert versions.find("a", None) is versions.find_last("a", "old") is None
    for content in ("old", "new", "old"):
        versions.add("a", content, f"the {content} one")
    assert versions.count("a") == 2
    assert (versions.find("a", "new"), versions.find_last("a", "new")) == ("the new one", None)
    assert versions.find("a", None) == versions.find_last("a", "old") == "the old one"
    versions.add("a", None, "any")
    assert versions.find_last("a", "whatever") == "any"
    assert versions.find("a", "whatever") is None
