"""`task.show=trace`: what happened in a turn, in the terminal."""

import re
from dataclasses import replace
from pathlib import Path

from convrag import (
    Answer,
    Completion,
    Evidence,
    EvidenceItem,
    Hit,
    Message,
    Passage,
    Prompt,
    Query,
    Run,
    TurnRecord,
)
from convrag_tasks.turn_trace import TraceObserver, format_turn_trace
from tasks import run_task


def record() -> TurnRecord:
    passages = [Passage(name, f"text of {name}") for name in "abc"]
    items = tuple(
        EvidenceItem(n, p, p.text, hint=n == 2) for n, p in enumerate(passages[:2], start=1)
    )
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
            "rewriter": {
                "gate": "heuristic",
                "reasons": ["pronoun", "short"],
                "prompt": "0af",
                "units": [{"a": 1}],
            }
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
        "  Tokens   answer, 2 calls: 40; reply 3",
    ]


def test_a_run_and_a_chat_show_it_on_request(tmp_path: Path) -> None:
    common = ["+seed=condense", "tracker=none", "limit=1", "task.show=trace"]
    shown = run_task(common, tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "turn moon-basics<::>1\n  Asked    " in shown.stdout
    follow_up = shown.stdout.partition("turn moon-basics<::>2\n")[2].splitlines()
    assert follow_up[:3] == [
        "  Detected follow-up question, condensing...",
        "  Query condensation:",
        "    Original: How far is it from the Earth?",
    ]
    assert follow_up[3].startswith("    Standalone: ")
    assert follow_up[4] == "  Follow-up turn (#2): plain question only"
    assert re.fullmatch(r"  Added \d+ (new )?snippets? as evidence note.*", follow_up[5])
    assert follow_up[6] == "  Asked    How far is it from the Earth?"
    assert "the question was rewritten: a pronoun in it may refer to what was said" in shown.stdout
    assert "Tokens" not in shown.stdout  # rules answer
    talk = ["task=chat", *common, "task.suggestions=0"]
    talked = run_task(talk, tmp_path, stdin="why has the moon phases\n")
    assert talked.returncode == 0, talked.stderr
    assert (
        "  Gate     the question was searched for as it is: it is the first question"
        in talked.stdout
    )


def test_a_citation_of_an_earlier_turns_passage_is_counted_and_named() -> None:
    """A chat's answer cites by the numbers of the whole conversation."""
    tea = Passage("tea", "Tea is brewed.", title="Tea")
    moon = Passage("moon", "The moon is far.", title="Moon")
    first = TurnRecord(
        "c",
        "c<::>1",
        "d",
        1,
        "tea?",
        evidence=Evidence((EvidenceItem(1, tea, tea.content),)),
        answer=Answer("It is [1].", ("tea",)),
    )
    second = TurnRecord(
        "c",
        "c<::>2",
        "d",
        2,
        "and the moon?",
        evidence=Evidence((EvidenceItem(1, moon, moon.content),)),
        answer=Answer("Not as tea is [1].", ("tea",)),
        trace={"generator": {"numbers": {"moon": 2, "tea": 1}}},
    )
    printed: list[str] = []
    observer = TraceObserver(printed.append)
    run = Run(Path("outputs/now"), {}, conversations=1, turns=2)
    observer.convrag_turn_finished(run, first)
    observer.convrag_turn_finished(run, second)
    observer.convrag_turn_finished(run, replace(second, conversation_id="other"))
    assert "0 found, 1 read, 1 cited\n           [1] Tea - tea" in printed[0]
    assert "0 found, 2 read, 1 cited\n           [1] Tea - tea" in printed[1]
    assert "0 found, 1 read, 1 cited" in printed[2]
