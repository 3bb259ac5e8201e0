"""generator=chat goes on from turn to turn, and sends what it would send if it had just been given
the history.
"""

import copy
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from hypothesis import given, settings, strategies as st

import toys
from convrag.api.completions import Message
from convrag.api.conversations import Question, Turn
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Hit, Passage
from convrag.api.session import Session
from convrag_condense.chat import ChatGenerator
from convrag_dedup.context import DedupContext


class Cites(toys.Says):
    """Cites the first numbers, and counts which texts it was asked to count."""

    def __init__(self) -> None:
        super().__init__("It is so [1][2][40].")
        self.counted: Counter[str] = Counter()

    def count_tokens(self, text: str) -> int:
        self.counted[text] += 1
        return super().count_tokens(text)


def passage(number: int) -> Passage:
    return Passage(f"p{number}", f"Text {number} of many words.", title=f"Title {number}")


def ask(chat: ChatGenerator, fresh: ChatGenerator, question: Question, evidence: Evidence) -> str:
    """One turn, compared with that of a generator that knows nothing but the history."""
    anew = replace(question, stage_state={})
    assert chat.messages(question) == fresh.messages(anew)
    answer = chat.generate(question, evidence)
    assert answer == fresh.generate(anew, evidence)
    assert chat.llm.prompts[-1] == fresh.llm.prompts[-1]  # type: ignore[attr-defined]
    return answer.text


shown_numbers = st.lists(st.integers(0, 12), max_size=4, unique=True)
asking = st.tuples(st.just("ask"), shown_numbers, st.integers(1, 9))
steps = st.lists(
    asking
    | asking
    | asking
    | st.tuples(st.just("fail"), shown_numbers, st.just(1))
    | st.tuples(
        st.sampled_from(["cut", "edit", "restore", "restart", "again"]),
        st.just([]),
        st.integers(0, 9),
    ),
    max_size=14,
)


@settings(max_examples=250)
@given(
    steps,
    st.sampled_from([(16_000, 10), (6400, 10), (6350, 3), (60_000, 500)]),
    st.sampled_from(["every_turn", "first_turn", "newest"]),
    st.booleans(),
    st.sampled_from([None, 300, 1500]),
)
def test_the_messages_are_those_of_a_history_that_is_rebuilt(
    steps: list[Any],
    sizes: tuple[int, int],
    evidence: Any,
    anywhere: bool,
    characters: int | None,
) -> None:
    """Turns fail, are taken back, edited, asked again and read from disk; the context shows hints."""
    chosen: dict[str, Any] = dict(zip(("window", "exchanges"), sizes, strict=True))
    chosen["evidence"] = evidence
    if evidence == "every_turn" and characters:
        chosen |= {"characters": characters, "keep_first": False}
    chat, fresh = (ChatGenerator(llm=Cites(), **chosen) for _ in range(2))
    context = DedupContext(llm=chat.llm, only_if_present=not anywhere)
    going = Session("c")
    for kind, numbers, size in steps:
        turns = going.history
        if kind == "cut":
            del turns[max(len(turns) - size, 0) :]
        elif kind == "edit" and turns:
            turns[size % len(turns)] = replace(
                turns[size % len(turns)], question="Another question?", shown=()
            )
        elif kind == "restore":
            turns[:] = copy.deepcopy(turns)
        elif kind == "restart":
            going.stage_state.clear()
        elif kind == "again" and turns:
            ask(
                chat,
                fresh,
                replace(going.make_question("Quite " * 20 * size + "another one?")),
                Evidence(),
            )
        if kind not in ("ask", "fail"):
            continue
        question = going.make_question(
            f"What about {len(turns)}, {' '.join(['really'] * 20 * size)}?"
        )
        hits = [Hit(passage(number), 1.0) for number in numbers]
        shown = context.assemble(question, hits, chat.messages(question))
        text = ask(chat, fresh, question, shown)
        passages = tuple(item.passage for item in shown.items)
        answer = "" if kind == "fail" else text
        going.add_turn(Turn(question.turn_id, question.text, answer, passages, shown=shown.items))


def talk(chat: ChatGenerator, name: str, turns: int) -> list[tuple[Message, ...]]:
    """The messages of a conversation that shares its passages and its wording with no other."""
    going, sent = Session(name), []
    for number in range(turns):
        question = going.make_question(f"{name} asks {number}?")
        found = [
            Passage(f"{name}-{number + each}", f"{name} text {number + each}.") for each in range(3)
        ]
        evidence = Evidence(
            tuple(EvidenceItem(n, each, each.text) for n, each in enumerate(found, 1))
        )
        before = chat.messages(question)
        answer = chat.generate(question, evidence)
        assert set(answer.citations) <= {f"{name}-0", f"{name}-1"}
        sent.append(
            (
                *before,
                chat._read_history(question).render_newest(question.text, evidence.items).message,
            )
        )
        going.add_turn(
            Turn(question.turn_id, question.text, answer.text, tuple(found), shown=evidence.items)
        )
    return sent


def test_conversations_side_by_side_know_nothing_of_each_other() -> None:
    chat = ChatGenerator(llm=Cites())
    names = [f"talker{number}" for number in range(16)]
    alone = {name: talk(ChatGenerator(llm=Cites()), name, 15) for name in names}
    with ThreadPoolExecutor(8) as pool:
        together = dict(zip(names, pool.map(lambda name: talk(chat, name, 15), names), strict=True))
    assert together == alone
    for name, turns in together.items():
        text = " ".join(message.content for messages in turns for message in messages[1:])
        assert not [other for other in names if other != name and f"{other} " in text]


def test_each_exchange_is_counted_once() -> None:
    llm = Cites()
    sent = talk(ChatGenerator(llm=llm, window=60_000, exchanges=500), "a", 20)
    assert len(sent[-1]) == 1 + 2 * 19 + 1
    with_evidence = [times for text, times in llm.counted.items() if "a text" in text]
    assert with_evidence == [1] * 19
