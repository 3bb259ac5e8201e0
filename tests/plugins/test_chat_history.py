"""generator=chat sends what it would send if it rebuilt the whole history at each turn."""

import copy
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from convrag.api.session import Session
from convrag.api.stage import LLM
from convrag.api.types import Completion, Evidence, EvidenceItem, Hit, Message, Passage, Prompt, Question, Turn
from convrag_condense.chat import ChatGenerator
from convrag_condense.chat_history import format_item, show_in_full
from convrag_dedup.context import DedupContext

PER_MESSAGE = 4


class Cites(LLM):
    """Cites the first numbers; keeps the prompts, and counts which texts it was asked to count."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []
        self.counted: Counter[str] = Counter()

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        return Completion("It is so [1][2][40].", model="cites")

    def count_tokens(self, text: str) -> int:
        self.counted[text] += 1
        return len(text.split())


class Rebuilt:
    """The messages of a turn in the plainest way: all exchanges are rendered and counted again."""

    def __init__(self, chat: ChatGenerator, question: Question, evidence: Evidence) -> None:
        self.chat = chat
        self.numbers: dict[str, int] = {}
        exchanges: list[dict[str, Any]] = []
        for turn in question.history:
            items = turn.shown or tuple(EvidenceItem(0, each, each.content) for each in turn.passages)
            shown = self.show(items, follow_up=bool(exchanges))
            if turn.answer.strip():
                user = self.render(turn.question, shown, first=not exchanges)
                exchanges.append({"user": user, "turn": turn, "items": items, "evidence": shown})
        sent = self.fit_hinted_texts(self.select(exchanges, question.text), question.text)
        system = chat.template.render(question="", evidence=[], first=True).messages[0]
        pairs = [message for each in sent for message in (each["user"], Message("assistant", each["turn"].answer))]
        self.earlier = [system, *pairs]
        shown = self.show(evidence.items, follow_up=bool(exchanges))
        self.messages = [*self.earlier, self.render(question.text, shown, first=not exchanges)]
        self.history = [{"user": each["turn"].question, "assistant": each["turn"].answer} for each in sent]
        self.evidence = shown if shown or not sent or chat.every_turn else sent[0]["evidence"]
        self.earlier_evidence = [item for each in sent for item in each["evidence"]]
        self.counts = (len(sent), len(exchanges) - len(sent))

    def show(self, items: Any, *, follow_up: bool) -> list[dict[str, Any]]:
        if follow_up and not self.chat.every_turn:
            return []
        return [format_item(self.number(item.passage), item) for item in items]

    def number(self, passage: Passage) -> int:
        return self.numbers.setdefault(passage.id, len(self.numbers) + 1)

    def render(self, question: str, evidence: list[dict[str, Any]], *, first: bool) -> Message:
        return self.chat.template.render(question=question, evidence=evidence, first=first).messages[1]

    def select(self, exchanges: list[dict[str, Any]], question: str) -> list[dict[str, Any]]:
        remaining = self.count_free(question)
        first, newest = exchanges[:1], []
        remaining -= sum(map(self.size, first))
        for each in reversed(exchanges[1:]):
            remaining -= self.size(each)
            if remaining < 0 or len(first) + len(newest) >= self.chat.max_exchanges:
                break
            newest.append(each)
        return [*first, *reversed(newest)]

    def count_free(self, question: str) -> int:
        system = self.chat.template.render(question="", evidence=[], first=True).messages[0]
        return self.chat.max_prompt_tokens - sum(len(t.split()) + PER_MESSAGE for t in (system.content, question))

    def fit_hinted_texts(self, selected: list[dict[str, Any]], question: str) -> list[dict[str, Any]]:
        while True:
            restored = self.restore_hinted_texts(selected)
            if len(selected) < 2 or sum(map(self.size, restored)) <= self.count_free(question):
                return restored
            selected = [selected[0], *selected[2:]]

    def size(self, exchange: dict[str, Any]) -> int:
        texts = (exchange["user"].content, exchange["turn"].answer)
        return sum(len(text.split()) + PER_MESSAGE for text in texts)

    def restore_hinted_texts(self, exchanges: list[dict[str, Any]]) -> list[dict[str, Any]]:
        shown: set[str] = set()
        restored = []
        for each in exchanges:
            orphans = [item for item in each["items"] if item.hint and item.passage.id not in shown]
            if orphans and each["evidence"]:
                items = [show_in_full(item) if item in orphans else item for item in each["items"]]
                evidence = [format_item(self.number(item.passage), item) for item in items]
                user = self.render(each["turn"].question, evidence, first=False)
                each = {**each, "user": user, "evidence": evidence}
            shown.update(item.passage.id for item in each["items"])
            restored.append(each)
        return restored


def passage(number: int) -> Passage:
    return Passage(f"p{number}", f"Text {number} of many words.", title=f"Title {number}")


def ask(chat: ChatGenerator, question: Question, evidence: Evidence) -> str:
    """One turn, compared with the plain way."""
    expected = Rebuilt(chat, question, evidence)
    assert list(chat.messages(question)) == expected.earlier
    answer = chat.generate(question, evidence)
    prompt = chat.llm.prompts[-1]  # type: ignore[attr-defined]
    assert list(prompt.messages) == expected.messages
    assert prompt.inputs == {
        "question": question.text,
        "history": expected.history,
        "evidence": expected.evidence,
        "earlier_evidence": expected.earlier_evidence,
    }
    assert (answer.trace["exchanges"], answer.trace["exchanges_left_out"]) == expected.counts
    named = [*(item.passage.id for item in evidence.items), *answer.citations]
    assert answer.trace["numbers"] == {name: expected.numbers[name] for name in named if name in expected.numbers}
    ids = {number: name for name, number in expected.numbers.items()}
    assert answer.citations == tuple(ids[number] for number in (1, 2) if number in ids)
    return answer.text


shown_numbers = st.lists(st.integers(0, 12), max_size=4, unique=True)
asking = st.tuples(st.just("ask"), shown_numbers, st.integers(1, 9))
steps = st.lists(
    asking
    | asking
    | asking
    | st.tuples(st.just("fail"), shown_numbers, st.just(1))
    | st.tuples(st.sampled_from(["cut", "edit", "restore", "restart", "again"]), st.just([]), st.integers(0, 9)),
    max_size=14,
)


@settings(max_examples=250)
@given(steps, st.sampled_from([(16_000, 10), (6400, 10), (6350, 3), (60_000, 500)]), st.booleans(), st.booleans())
def test_the_messages_are_those_of_a_history_that_is_rebuilt(
    steps: list[Any], sizes: tuple[int, int], every_turn: bool, anywhere: bool
) -> None:
    """Turns fail, are taken back, edited, asked again and read from disk; the context shows hints."""
    window, exchanges = sizes
    llm = Cites()
    evidence_from = "every_turn" if every_turn else "first_turn"
    chat = ChatGenerator(llm=llm, window=window, exchanges=exchanges, evidence=evidence_from)
    context = DedupContext(llm=llm, only_if_present=not anywhere)
    going = Session("c")
    for kind, numbers, size in steps:
        turns = going.history
        if kind == "cut":
            del turns[max(len(turns) - size, 0) :]
        elif kind == "edit" and turns:
            turns[size % len(turns)] = replace(turns[size % len(turns)], question="Another question?", shown=())
        elif kind == "restore":
            turns[:] = copy.deepcopy(turns)
        elif kind == "restart":
            going.stage_state.clear()
        elif kind == "again" and turns:
            ask(chat, replace(going.make_question("Quite " * 20 * size + "another one?")), Evidence())
        if kind not in ("ask", "fail"):
            continue
        question = going.make_question(f"What about {len(turns)}, {' '.join(['really'] * 20 * size)}?")
        hits = [Hit(passage(number), 1.0) for number in numbers]
        evidence = context.assemble(question, hits, chat.messages(question))
        text = ask(chat, question, evidence)
        passages = tuple(item.passage for item in evidence.items)
        answer = "" if kind == "fail" else text
        going.add_turn(Turn(question.turn_id, question.text, answer, passages, shown=evidence.items))


def talk(chat: ChatGenerator, name: str, turns: int) -> list[tuple[Message, ...]]:
    """The messages of a conversation that shares its passages and its wording with no other."""
    going, sent = Session(name), []
    for number in range(turns):
        question = going.make_question(f"{name} asks {number}?")
        found = [Passage(f"{name}-{number + each}", f"{name} text {number + each}.") for each in range(3)]
        evidence = Evidence(tuple(EvidenceItem(n, each, each.text) for n, each in enumerate(found, 1)))
        before = chat.messages(question)
        answer = chat.generate(question, evidence)
        assert set(answer.citations) <= {f"{name}-0", f"{name}-1"}
        sent.append((*before, chat._read_history(question).render_newest(question.text, evidence.items).message))
        going.add_turn(Turn(question.turn_id, question.text, answer.text, tuple(found), shown=evidence.items))
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
