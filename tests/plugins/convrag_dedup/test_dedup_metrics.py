"""What a run says of deduplication: its report, metrics=dedup, and metrics=prefix_reuse."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import toys
from convrag import Completion, Evidence, EvidenceItem, Message, Passage, Prompt, TurnRecord
from convrag.testing import MetricsContract
from convrag_dedup.dedup_metrics import DedupMetrics, report_deduplication
from convrag_dedup.prefix_reuse import PrefixReuse, Trie, add_sequence


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=6), max_size=12))
def test_the_trie_finds_the_longest_beginning(sequences: list[list[str]]) -> None:
    trie: Trie = {}
    for number, tokens in enumerate(sequences):
        starts = [tokens[:length] for length in range(len(tokens) + 1)]
        known = [
            start
            for start in starts
            if any(other[: len(start)] == start for other in sequences[:number])
        ]
        assert add_sequence(trie, tokens) == max(map(len, known), default=0)


def request(*contents: str, task: str = "answer") -> tuple[Prompt, Completion]:
    roles: Any = ("system", "user", "assistant", "user")
    return Prompt(
        task, tuple(Message(*each) for each in zip(roles, contents, strict=False))
    ), Completion("yes")


def record(number: int, *replies: Any, conversation: str = "c", **fields: Any) -> TurnRecord:
    name = f"{conversation}<::>{number}"
    return TurnRecord(conversation, name, "default", number, "?", replies=replies, **fields)


class TestPrefixReuseContract(MetricsContract):
    def make(self) -> PrefixReuse:
        return PrefixReuse(llm=toys.EchoLLM())


class TestDedupMetricsContract(MetricsContract):
    def make(self) -> DedupMetrics:
        return DedupMetrics()


def test_the_share_of_tokens_that_came_before() -> None:
    records = [
        record(1, request("Be brief.", "One two three?")),
        record(2, request("Be brief.", "One two three?", "Yes.", "And four?")),
        record(3, request("Be brief.", "One two four five?")),
        record(4),
        record(1, request("Be brief.", "One two"), conversation="another"),
    ]
    values = PrefixReuse(llm=toys.EchoLLM()).measure(records)
    expected = {"c<::>1": 5, "c<::>2": 8, "c<::>3": 6, "another<::>1": 4}
    assert {name: scores["prompt_tokens"] for name, scores in values.items()} == expected
    wanted = {"c<::>1": 0, "c<::>2": 5 / 8, "c<::>3": 4 / 6, "another<::>1": 0}
    assert {name: scores["prefix_reuse"] for name, scores in values.items()} == wanted


def test_a_word_does_not_count_in_part_and_roles_do() -> None:
    metric = PrefixReuse(llm=toys.EchoLLM())
    values = metric.measure([record(1, request("s", "cat")), record(2, request("s", "category"))])
    assert values["c<::>2"]["prefix_reuse"] == 1 / 2
    swapped = (Prompt("answer", (Message("user", "s"), Message("user", "cat"))), Completion(""))
    values = metric.measure([record(1, request("s", "cat")), record(2, swapped)])
    assert values["c<::>2"]["prefix_reuse"] == 0


def test_only_some_tasks() -> None:
    records = [
        record(1, request("a b", task="rewrite"), request("a b")),
        record(2, request("a b", task="rewrite")),
    ]
    values = PrefixReuse(llm=toys.EchoLLM(), tasks=["answer"]).measure(records)
    assert values == {"c<::>1": {"prefix_reuse": 0.0, "prompt_tokens": 2.0}}
    everything = PrefixReuse(llm=toys.EchoLLM()).measure(records)
    assert [scores["prefix_reuse"] for scores in everything.values()] == [0.5, 1.0]


def test_metrics_count_any_context() -> None:
    items = tuple(EvidenceItem(n, Passage(f"p{n}", "x"), "x", hint=n == 2) for n in (1, 2, 3))
    trace = {"context": {"missing": ["m"], "tokens_saved": 7, "tokens_sent_again": 2}}
    values = DedupMetrics().measure(
        [
            record(1, evidence=Evidence(items), trace=trace),
            record(2, evidence=Evidence(items[:1])),
            record(3),
        ]
    )
    assert values["c<::>1"] == {
        "num_retrieved": 4,
        "num_novel": 2,
        "num_deduplicated": 1,
        "deduplication_rate": 0.25,
        "tokens_saved": 7,
        "tokens_sent_again": 2,
    }
    assert values["c<::>2"]["deduplication_rate"] == 0
    assert "c<::>3" not in values


def traced(number: int, **numbers: Any) -> TurnRecord:
    trace = {
        "num_retrieved": 4,
        "num_novel": 4,
        "num_deduplicated": 0,
        "num_sent_again": 0,
        "missing": [],
    }
    trace |= {"tokens_saved": 0, "tokens_sent_again": 0} | numbers
    return record(number, trace={"context": trace})


def test_the_report() -> None:
    records = [
        traced(1),
        traced(2, num_novel=1, num_deduplicated=3, tokens_saved=90),
        traced(
            2,
            num_novel=2,
            num_deduplicated=1,
            num_sent_again=1,
            tokens_sent_again=30,
            missing=["x"],
        ),
        record(3, error="retriever: down"),
    ]
    report = report_deduplication(records)
    assert report is not None
    overall = report.numbers["overall"]
    assert (overall["turns"], overall["num_retrieved"], overall["deduplication_rate"]) == (
        3,
        12,
        4 / 12,
    )
    assert report.numbers["by_turn"]["1"]["deduplication_rate"] == 0
    assert report.numbers["by_turn"]["2"] == {
        "turns": 2,
        "num_retrieved": 8,
        "num_novel": 3,
        "num_deduplicated": 4,
        "num_sent_again": 1,
        "tokens_saved": 90,
        "tokens_sent_again": 30,
        "missing": 1,
        "deduplication_rate": 0.5,
    }
    assert "4 of 12 passages (33.3%)" in report.lines[0]
    assert "1 retrieved passages have no text" in report.lines[1]
    assert report_deduplication([record(1)]) is None


def test_negative_savings_are_reported() -> None:
    """A hint can be longer than a short text: that must not vanish in a sum."""
    report = report_deduplication([traced(1, tokens_saved=-5), traced(2, tokens_saved=-7)])
    assert report is not None
    assert report.numbers["overall"]["tokens_saved"] == -12


@pytest.mark.parametrize("context", ["full", "dedup"])
def test_a_run(here: Path, context: str) -> None:
    from convrag.config.compose import compose
    from convrag.run.runner import run_experiment

    chosen = [
        f"context={context}",
        "generator=chat",
        "rewriter=last_n",
        "limit=3",
        "tracker=none",
        "metrics=[dedup,prefix_reuse]",
    ]
    _, summary = run_experiment(compose(*chosen), here / "run")
    written = json.loads((here / "run" / "metrics.json").read_text(encoding="utf-8"))
    numbers = written["reports"]["deduplication"]
    assert 0 < numbers["prefix_reuse"]["overall"] < 1
    assert 0 < summary.overall["prefix_reuse"] < 1
    assert len(numbers["prefix_reuse"]["by_conversation"]) == 3
    assert (summary.overall["deduplication_rate"] > 0) == (context == "dedup")
    assert ("overall" in numbers) == (context == "dedup")
    assert "Prefix reuse" in (here / "run" / "summary.md").read_text(encoding="utf-8")
