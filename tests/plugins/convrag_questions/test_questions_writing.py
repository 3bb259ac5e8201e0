"""How conversations are planned, written and checked, with a scripted language model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from convrag import LLMError, PromptTemplate, Store
from convrag.sdk.errors import RunStopped
from convrag.sdk.search.corpus import Corpus
from convrag_questions.conversation import (
    ConversationWriter,
    Outline,
    WrittenConversation,
    is_prose,
    name_document,
    plan_conversations,
    plan_kinds,
)
from convrag_questions.question import (
    NOTHING,
    TRIES,
    Prompts,
    QuestionWriter,
    are_alike,
    count_copied_words,
    has_quote,
)
from question_toys import Nearest, Notes, QuestionLLM, Reply, note

DOCUMENTS = {"red": 3, "green": 3, "white": 1}
PROMPTS = Prompts(*(PromptTemplate(name, package="convrag_questions") for name in Prompts._fields))


def make_outline(folder: Path, documents: Mapping[str, int] = DOCUMENTS) -> Outline:
    return Outline(Corpus(Notes(documents=documents), "default", Store(folder)))


def test_passages_are_read_on_from_any_of_a_long_document(tmp_path: Path) -> None:
    outline = make_outline(tmp_path, {"long": 30})
    for passage in (note("long", number) for number in (0, 1, 13, 29)):
        assert outline.read_from(passage)[0] == passage
    assert outline.read_from(note("short", 0)) == (note("short", 0),)


def write(folder: Path, llm: QuestionLLM, turns: int = 4, **documents: int) -> WrittenConversation:
    outline = make_outline(folder, documents or DOCUMENTS)
    retriever = Nearest(Notes(documents=documents or DOCUMENTS))
    writer = ConversationWriter(
        QuestionWriter(llm, PROMPTS, {}), retriever, {"default": outline}, turns
    )
    return writer.write(next(plan_conversations({"default": outline}, seed=0)))


def test_each_document_comes_once_before_any_comes_again(tmp_path: Path) -> None:
    outlines = {name: make_outline(tmp_path / name) for name in ("a", "b")}
    plans = list(plan_conversations(outlines, seed=1))
    first = [(plan.domain, plan.document) for plan in plans[:6]]
    assert len(set(first)) == 6
    assert [plan.domain for plan in plans[:4]] == ["a", "b", "a", "b"]
    assert len({(plan.domain, plan.passages[0].id) for plan in plans}) == len(plans)
    assert len({plan.id for plan in plans}) == len(plans) <= 14
    assert plans == list(plan_conversations(outlines, seed=1))
    assert plans != list(plan_conversations(outlines, seed=2))


def test_a_conversation_opens_follows_up_and_changes_its_topic(tmp_path: Path) -> None:
    llm = QuestionLLM()
    made = write(tmp_path, llm)
    assert [turn.kind for turn in made.turns] == [
        "opening",
        "follow_up",
        "topic_shift",
        "follow_up",
    ]
    documents = [name_document(turn.passage) for turn in made.turns]
    assert documents[0] == documents[1] != documents[2] == documents[3]
    assert all(turn.standalone != turn.question for turn in made.turns if turn.kind == "follow_up")
    assert made.counts.accepted == 4
    assert not made.counts.refused


def test_the_check_does_not_know_what_it_checks(tmp_path: Path) -> None:
    """Who answers from the passage is not told the answer; who judges a question alone is not told
    the history.
    """
    llm = QuestionLLM()
    write(tmp_path, llm)
    assert all(
        set(inputs) == {"question", "title", "passage", "history"}
        for inputs in llm.list_inputs("solve")
    )
    assert all(set(inputs) == {"question"} for inputs in llm.list_inputs("alone"))
    texts = [text for task, _, text in llm.asked if task == "question"]
    assert "opens the conversation" in texts[0]
    assert "User: What number opens" in texts[1]
    assert "follow-up" in texts[1]


@pytest.mark.parametrize(
    ("turns", "kinds"), [(1, "o"), (2, "of"), (3, "off"), (4, "ofsf"), (7, "offsfff")]
)
def test_the_kinds_of_turns(turns: int, kinds: str) -> None:
    names = {"o": "opening", "f": "follow_up", "s": "topic_shift"}
    assert plan_kinds(turns) == [names[kind] for kind in kinds]


def propose(**changed: str) -> Reply:
    return lambda inputs: {**QuestionLLM.do_question(inputs), **changed}


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ({"question": propose(quote="The box is green.")}, "its quote is not in the passage"),
        ({"question": propose(answer="")}, "its quote is not in the passage"),
        (
            {
                "question": propose(
                    question="Who writes the name, the date and the time into the book?"
                )
            },
            "it copies the wording of the passage",
        ),
        ({"alone": lambda inputs: {"clear": False}}, "it cannot be understood by itself"),
        ({"solve": lambda inputs: {"answer": None}}, "the passage does not answer it"),
        ({"compare": lambda inputs: {"same": False}}, "the passage gives another answer"),
    ],
)
def test_an_opening_that_is_not_good_is_refused(
    replies: dict[str, Reply], reason: str, tmp_path: Path
) -> None:
    llm = QuestionLLM(**replies)
    made = write(tmp_path, llm, turns=1, white=1)
    assert not made.turns
    assert made.counts.refused == {reason: TRIES}
    last = [text for task, _, text in llm.asked if task == "question"][-1]
    assert last.count(f"({reason})") == TRIES - 1, "the model is told what was refused, and why"


@pytest.mark.parametrize(
    "replies",
    [
        {"alone": lambda inputs: {"clear": True}},
        {"question": lambda inputs: {**QuestionLLM.do_question({**inputs, "kind": "opening"})}},
    ],
)
def test_a_follow_up_must_depend_on_the_conversation(
    replies: dict[str, Reply], tmp_path: Path
) -> None:
    made = write(tmp_path, QuestionLLM(**replies), turns=2, white=2)
    assert not made.turns, "one turn is no conversation"
    assert made.counts.refused["it does not depend on the conversation"] > 0


def test_the_next_proposal_may_be_good(tmp_path: Path) -> None:
    def solve(inputs: Mapping[str, Any]) -> Any:
        return {
            "answer": "" if "(0)" in inputs["question"] else QuestionLLM.do_solve(inputs)["answer"]
        }

    made = write(tmp_path, QuestionLLM(solve=solve), turns=1)
    assert [turn.question for turn in made.turns] == [
        "Which number opens The red room, please (1)?"
    ] or made.turns
    assert made.counts.refused == {"the passage does not answer it": 1}


def test_a_question_is_not_asked_twice(tmp_path: Path) -> None:
    llm = QuestionLLM(
        question=lambda inputs: {**QuestionLLM.do_question(inputs), "question": "And it?"}
    )
    llm.replies["alone"] = lambda inputs: {"clear": not llm.list_inputs("question")[-1]["history"]}
    made = write(tmp_path, llm, turns=3, red=1)
    assert made.counts.refused["it was asked before"] == TRIES


def test_a_passage_that_is_good_for_no_question_is_left(tmp_path: Path) -> None:
    def question(inputs: Mapping[str, Any]) -> Any:
        return QuestionLLM.do_question(inputs) if "key 2" in inputs["passage"] else {"question": ""}

    made = write(tmp_path, QuestionLLM(question=question), turns=1, red=3)
    assert [turn.passage.id for turn in made.turns] == ["red#2"]
    assert set(made.counts.refused) <= {NOTHING}


def test_unreadable_replies_and_failed_calls_are_counted(tmp_path: Path) -> None:
    made = write(tmp_path, QuestionLLM(question=lambda inputs: "no JSON"), turns=1, white=1)
    assert (made.counts.unreadable, made.turns) == (1, [])

    def fail(inputs: Any) -> Any:
        raise LLMError("the server is down")

    made = write(tmp_path, QuestionLLM(solve=fail), turns=4, red=3, green=3)
    assert (made.counts.failed, made.counts.first_failure) == (1, "the server is down")
    assert made.turns == []


def test_a_cost_limit_stops_the_writing(tmp_path: Path) -> None:
    def stop(inputs: Any) -> Any:
        raise RunStopped("the limit is reached")

    with pytest.raises(RunStopped):
        write(tmp_path, QuestionLLM(solve=stop))


def test_overlapping_passages_that_hold_the_sentence_are_relevant_too(tmp_path: Path) -> None:
    quoted = note("red", 1).text.split(". ")[1]
    llm = QuestionLLM(question=propose(quote=quoted), compare=lambda inputs: {"same": True})
    made = write(tmp_path, llm, turns=1, red=3, green=1)
    (found,) = made.relevant
    assert made.turns[0].passage.id == found[0].id
    expected = {"red": {"red#1", "red#2", "red#3"}, "green": {"green#1"}}[name_document(found[0])]
    assert {passage.id for passage in found} == expected


def test_a_document_of_one_passage_goes_on_with_another_topic(tmp_path: Path) -> None:
    made = write(tmp_path, QuestionLLM(), turns=6, white=1, red=1)
    assert [turn.kind for turn in made.turns].count("topic_shift") >= 1
    assert len({turn.passage.id for turn in made.turns}) == 2


@pytest.mark.parametrize(
    ("question", "passage", "count"),
    [
        ("Where is the blue box?", "The blue box is here.", 3),
        ("Wo ist die Kiste?", "The blue box is here.", 0),
        ("Is THE Blue, box…", "the blue box", 3),
        ("お茶は何度ですか", "お茶は八十度。", 3),
        ("", "", 0),
    ],
)
def test_copied_words(question: str, passage: str, count: int) -> None:
    assert count_copied_words(question, passage) == count


def test_a_quote_is_found_whatever_its_case_lines_and_marks() -> None:
    assert has_quote("It has\nkey 3, in the “blue” box.", "it has key 3 in the blue box")
    assert not has_quote("It has key 31.", "It has key 3")
    assert not has_quote("It has key 31.", "")
    assert are_alike("Where is it?", "where is IT")


def test_prose() -> None:
    assert is_prose(note("red", 1).text)
    assert not is_prose("Too short.")
    assert not is_prose("| 1 | 2 |\n" * 40)
    assert is_prose("茶は八十度の湯で三分間入れるとよい。" * 8)
