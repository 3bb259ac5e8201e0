"""What stages keep of a conversation stays in it: eight threads, sixteen conversations, one
pipeline.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from convrag import LLM, Completion, Hit, Passage, Pipeline, Prompt, Query, Retriever, TurnRecord
from convrag_basics.none import NoRanker
from convrag_condense.chat import ChatGenerator
from convrag_condense.rewriter import CondenseRewriter
from convrag_dedup.context import DedupContext

NAMES = [f"talker{letter}" for letter in "abcdefghijklmnop"]
TURNS = 12


class Repeats(LLM):
    """Rewrites a question as it is, with one of the history, and answers with its first word: the conversation's name.

    It keeps what it was sent, by that name.
    """

    def __init__(self) -> None:
        self.sent: dict[str, list[Any]] = {name: [] for name in NAMES}

    def complete(self, prompt: Prompt) -> Completion:
        question = prompt.inputs["question"]
        self.sent[question.split()[0]].append((prompt.messages, prompt.inputs))
        if prompt.task == "rewrite":
            return Completion(
                f"{question} and {prompt.inputs['history'][0]['user']}", model="repeats"
            )
        return Completion(f"{question.split()[0]} knows [1][2].", model="repeats")

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Own(Retriever):
    """Finds passages that only the conversation of the query can have seen, two of them again at the next turn."""

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        name, number = queries[0].text.split()[:2]
        return [
            Hit(Passage(f"{name}-{int(number) + n}", f"{name} said {int(number) + n}."), 1.0)
            for n in range(3)
        ]


def make_pipeline(llm: Repeats) -> Pipeline:
    return Pipeline(
        rewriter=CondenseRewriter(llm=llm, retriever=Own(), gate="always"),
        retriever=Own(),
        reranker=NoRanker(),
        context=DedupContext(llm=llm, near_duplicate=0.9),
        generator=ChatGenerator(llm=llm),
    )


def make_talk(pipeline: Pipeline) -> Callable[[str], list[TurnRecord]]:
    return lambda name: [
        pipeline.turn(name, f"{name} {number} asks again?") for number in range(TURNS)
    ]


def describe(record: TurnRecord) -> tuple[Any, ...]:
    """What a turn did, without its times."""
    return (
        record.queries,
        record.evidence,
        record.answer,
        record.trace,
        record.fallbacks,
        record.error,
    )


def test_nothing_of_one_conversation_reaches_another() -> None:
    by_itself, shared = Repeats(), Repeats()
    alone = {name: make_talk(make_pipeline(by_itself))(name) for name in NAMES}
    with ThreadPoolExecutor(8) as pool:
        together = dict(zip(NAMES, pool.map(make_talk(make_pipeline(shared)), NAMES), strict=True))
    assert shared.sent == by_itself.sent
    for name in NAMES:
        assert [describe(record) for record in together[name]] == [
            describe(record) for record in alone[name]
        ]
        assert any(item.hint for record in together[name] for item in record.evidence.items)
        said = repr([shared.sent[name], [describe(record) for record in together[name]]])
        assert [other for other in NAMES if other in said] == [name]
