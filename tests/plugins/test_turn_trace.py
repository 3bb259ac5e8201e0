"""`task.show=trace`: what happened in a turn, in the terminal."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convrag.api.records import TurnRecord
from convrag.api.types import Completion, Evidence, EvidenceItem, Hit, Message, Passage, Prompt, Query
from convrag.turn.pipeline import Pipeline
from convrag_tasks.turn_trace import count_parts, format_turn_trace
from tasks import run_task


def record() -> TurnRecord:
    passages = [Passage(name, f"text of {name}") for name in "abc"]
    items = tuple(EvidenceItem(n, p, p.text, hint=n == 2) for n, p in enumerate(passages[:2], start=1))
    prompt = Prompt("answer", (Message("user", "x" * 40),))
    return TurnRecord(
        conversation_id="c",
        turn_id="c<::>2",
        domain="default",
        number=2,
        original_query="and it?",
        queries=(Query("the moon?"), Query("and it?", 0.5)),
        hits=tuple(Hit(p, 1.0) for p in passages),
        evidence=Evidence(items),
        trace={
            "rewriter": {"gate": "heuristic", "reasons": ["pronoun", "short"], "prompt": "0af", "units": [{"a": 1}]}
        },
        timings={"rewriter": 0.25},
        fallbacks={"reranker": "tired"},
        error="generator: down",
        replies=((prompt, Completion("y", 10, 1)), (prompt, Completion("y", 30, 2))),
    )


def test_a_turn_as_lines() -> None:
    assert format_turn_trace([record()]).splitlines() == [
        "  Asked    and it?",
        "  Query    the moon?",
        "  Query    and it? (weight 0.5)",
        "  Units    a 1",
        "  Trace    reasons pronoun short",
        "  Fallback reranker: tired",
        "  Passages 3 found, 2 read, 1 of them as hints at earlier ones, 0 cited",
        "  Failed   generator: down",
        "  Seconds  rewriter 0.25",
        "  Tokens   answer, 2 calls: 40 (instructions 40); reply 3",
    ]


def test_the_parts_of_a_prompt() -> None:
    messages = (
        Message("system", "i" * 100),
        Message("user", "h" * 30),
        Message("assistant", "h" * 70),
        Message("user", f"{'q' * 50}\n{'e' * 149}"),
    )
    inputs = {"question": "q" * 50, "history": [{"user": "not sent"}], "evidence": [{"number": 1, "text": "e" * 149}]}
    assert count_parts(Prompt("answer", messages, inputs), 400) == {
        "instructions": 101, "history": 100, "evidence": 149, "question": 50,
    }  # fmt: skip
    in_one = Prompt("rewrite", (Message("user", "do: hhhh, qq"),), {"question": "qq", "history": [{"user": "hhhh"}]})
    assert count_parts(in_one, 12) == {"instructions": 6, "history": 4, "question": 2}
    assert count_parts(Prompt("x", ()), 5) == {}


@given(st.lists(st.text(max_size=8), max_size=5), st.text(max_size=8), st.integers(0, 10_000))
def test_the_parts_add_up(texts: list[str], question: str, tokens: int) -> None:
    messages = tuple(Message("user", text) for text in [*texts, f"{question} {' '.join(texts)}!"])
    parts = count_parts(Prompt("answer", messages, {"question": question}), tokens)
    assert sum(parts.values()) == pytest.approx(tokens, abs=2)


def test_the_parts_of_real_prompts(here: Path) -> None:
    """Every prompt that is sent gets parts that add up to its tokens; a chat's follow-up has all four."""
    chat = Pipeline.compose("+seed=condense", "tracker=none")
    records = [chat.turn("c", text) for text in ("why does the moon have phases", "and how long do they last?")]
    for prompt, _ in records[1].replies:
        parts = count_parts(prompt, 1000)
        assert sum(parts.values()) == pytest.approx(1000, abs=2)
        assert set(parts) >= {"instructions", "history", "question"}
    assert set(parts) == {"instructions", "history", "evidence", "question"}


def test_a_run_and_a_chat_show_it_on_request(tmp_path: Path) -> None:
    common = ["+seed=condense", "tracker=none", "limit=1", "task.show=trace"]
    shown = run_task(common, tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "turn moon-basics<::>2\n  Asked    How far is it from the Earth?" in shown.stdout
    assert "the question was rewritten: a pronoun in it may refer to what was said" in shown.stdout
    assert "Tokens" not in shown.stdout  # rules answer
    talk = ["task=chat", *common, "task.suggestions=0"]
    talked = run_task(talk, tmp_path, stdin="why has the moon phases\n")
    assert talked.returncode == 0, talked.stderr
    assert "  Gate     the question was searched for as it is: it is the first question" in talked.stdout
