"""context=snippets: consecutive sentences of a passage, within a number of tokens; and what 8,000
tokens hold.
"""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import toys
from convrag import Hit, Passage, Pipeline, Question
from convrag.config.compose import compose
from convrag.testing import ContextContract
from convrag_basics.contexts import SnippetContext, find_snippet

TEXT = "Tea is a drink. A kettle boils water.\nSteam whistles in the kettle's lid. Tea is brewed in it. Bread rises."


def count(text: str) -> int:
    return len(text.split())


def stage(tokens: int = 8) -> SnippetContext:
    return SnippetContext(llm=toys.EchoLLM(), tokens=tokens)


class TestContract(ContextContract):
    def make(self) -> SnippetContext:
        return stage()


@pytest.mark.parametrize(("wanted", "tokens", "snippet"), [
    ({"whistl", "lid"}, 7, "Steam whistles in the kettle's lid."),
    ({"kettl", "steam"}, 10, "A kettle boils water.\nSteam whistles in the kettle's lid."),
    ({"tea"}, 5, "Tea is a drink."),
    ({"nothing"}, 5, "Tea is a drink."),
    ({"bread"}, 99, TEXT),
    ({"whistl"}, 3, "Steam whistles in"),
    ({"whistl"}, 0, "Steam"),
])  # fmt: skip
def test_the_sentences_with_most_words_of_the_question(
    wanted: set[str], tokens: int, snippet: str
) -> None:
    assert find_snippet(TEXT, wanted, tokens, count) == snippet


@given(
    st.lists(st.sampled_from(["tea", "kettle.", "Steam", "it.", "\n", "whistles!"]), max_size=40),
    st.integers(1, 12),
)
def test_a_snippet_is_a_part_of_its_text_and_within_its_limit(
    words: list[str], tokens: int
) -> None:
    text = " ".join(words)
    snippet = find_snippet(text, {"kettl", "steam"}, tokens, count)
    assert snippet in text
    assert count(snippet) <= tokens
    assert bool(snippet) == bool(text.strip())


def test_a_passage_keeps_its_title_and_a_short_one_all() -> None:
    long, short = (
        Passage("a", TEXT, title="Kettles and tea"),
        Passage("b", "Bread rises.", title="Loaves"),
    )
    found = stage(10).assemble(
        Question("why?", standalone="why does a kettle whistle?"),
        [Hit(p, 1.0) for p in (long, short, long)],
        [],
    )
    assert [(item.number, item.text) for item in found.items] == [
        (1, "Kettles and tea\nSteam whistles in the kettle's lid."), (2, "Loaves\nBread rises."),
    ]  # fmt: skip
    assert found.trace == {"cut": 1, "tokens_left_out": count(long.content) - 9, "repeated": 1}


def test_a_title_is_shown_where_the_text_only_begins_with_its_letters() -> None:
    text = "Artificial neural networks learn. Kettles whistle when steam leaves the lid."
    passages = [Passage("a", text, title="Art"), Passage("b", text, title="Artificial")]
    question = Question("why?", standalone="why do kettles whistle?")
    found = stage(10).assemble(question, [Hit(p, 1.0) for p in passages], [])
    snippet = "Kettles whistle when steam leaves the lid."
    assert [item.text for item in found.items] == [f"Art\n{snippet}", snippet]


def test_the_published_budget() -> None:
    preset = compose("+system=perplexity", "llm=extractive")
    assert (preset.generator.window, preset.generator.max_tokens, preset.generator.exchanges) == (
        8000,
        2000,
        10,
    )
    assert (preset.context.tokens, preset.top_k, preset.top_n) == (200, 15, 6)
    assert preset.generator.evidence_tokens >= preset.context.tokens * preset.top_n
    assert preset.rewriter.guard == 0


def test_a_long_conversation_stays_within_8000_tokens(here: Path) -> None:
    """Passages of 600 words, answers of three long sentences: prompt and answer together fit the
    seed's window.
    """
    words = [" ".join(f"w{topic}x{n}" for n in range(40)) for topic in range(20)]
    rows = [
        {
            "_id": f"p{topic}",
            "title": f"Topic {topic}",
            "text": " ".join(f"The matter of topic {topic} {words[topic]} {n}." for n in range(14)),
        }
        for topic in range(20)
    ]
    (here / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    own = ["llm=extractive", "embedder=lsa", "retriever=bm25", "reranker=none"]
    chat = Pipeline.compose(
        "+system=perplexity", *own, "dataset=jsonl", "dataset.corpus=corpus.jsonl", "tracker=none"
    )
    sizes, evidence = [], []
    for turn in range(14):
        record = chat.turn("c", f"What is the matter of topic {turn}, w{turn}x1 and w{turn}x2?")
        assert not record.error
        assert record.trace["context"]["cut"] == len(record.evidence.items) == 6
        prompt, _ = record.replies[-1]
        sizes.append(sum(len(message.content.split()) + 4 for message in prompt.messages))
        tokens = sum(
            len(re.findall(r"\w+|[^\w\s]", message.content)) for message in prompt.messages
        )  # as llm=extractive
        assert 1000 < tokens + 4 * len(prompt.messages) <= 8000 - 2000
        evidence.append(record.trace["generator"]["exchanges_left_out"])
    assert evidence[-1] > 0  # the window is full, and not because there is nothing to send
    assert max(sizes) > 1500
