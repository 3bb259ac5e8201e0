"""metrics=mtrag: statements and verdicts, marks, refusals and questions back, conditioned as MTRAG
does.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convrag import (
    Answer,
    ConfigError,
    Conversation,
    Dataset,
    Evidence,
    EvidenceItem,
    LLMError,
    Passage,
    Prompt,
    Turn,
    TurnRecord as Record,
)
from convrag.score.scoring import Scores
from convrag.testing import MetricsContract
from convrag_metrics.mtrag import MtragMetrics
from toys import Says

TEA = Passage("tea", "Tea is made of leaves. It is drunk hot.", "Tea")
LABELS = ("ANSWERABLE", "PARTIAL", "UNANSWERABLE", "CONVERSATIONAL", "UNDERSPECIFIED", "")


class Labelled(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        for label in LABELS:
            turn = Turn(
                f"{label}<::>1",
                "What is tea?",
                "Leaves.",
                labels={"answerability": [label]} if label else {},
            )
            yield Conversation(label or "none", (turn,))


def record(
    label: str = "ANSWERABLE", answer: str = "Made of leaves [1]. Invented.", **fields: Any
) -> Record:
    fields.setdefault("evidence", Evidence((EvidenceItem(1, TEA, TEA.text),)))
    return Record(label, f"{label}<::>1", "d", 1, "What is tea?", answer=Answer(answer), **fields)


def judge(**replies: Any) -> Says:
    """A judge that replies by the task: one text each, or one for each call."""
    plain = {
        "statements": '{"statements": ["Tea is made of leaves.", "Tea was invented."]}',
        "verdicts": '{"verdicts": [true, false]}',
        "mark": '{"reason": "fine", "mark": 8}',
        "idk": '{"verdict": "no"}',
        "asks": '{"verdict": "no"}',
    }
    rest = {
        task: list(reply) if isinstance(reply, list) else [reply]
        for task, reply in (plain | replies).items()
    }

    def reply(prompt: Prompt) -> str:
        texts = rest[prompt.task]
        text = texts.pop(0) if len(texts) > 1 else texts[0]
        if isinstance(text, Exception):
            raise text
        return text

    return Says(reply)


def metric(llm: Says, **options: Any) -> MtragMetrics:
    return MtragMetrics(llm=llm, dataset=Labelled(), workers=1, **options)


def values(llm: Says, given: Record, **options: Any) -> dict[str, float]:
    return dict(metric(llm, **options).measure([given])[given.turn_id])


class TestContract(MetricsContract):
    def make(self) -> MtragMetrics:
        return metric(judge())


def test_statements_come_first_and_then_a_verdict_on_each() -> None:
    llm = judge()
    found = values(llm, record())
    assert found == {
        "RL_F": 0.5,
        "RB_llm": 0.8,
        "idk_judge": 0.0,
        "RL_F_idk": 0.5,
        "RB_llm_idk": 0.8,
    }
    prompts = {prompt.task: prompt.messages[-1].content for prompt in llm.prompts}
    assert list(prompts) == ["statements", "verdicts", "mark", "idk"]
    assert "Made of leaves." in prompts["statements"]
    assert "Tea is made of leaves. It is drunk hot." in prompts["verdicts"]
    assert "2. Tea was invented." in prompts["verdicts"]
    assert "Leaves." in prompts["mark"]


@pytest.mark.parametrize(
    ("label", "replies", "conditioned"),
    [
        ("ANSWERABLE", {"idk": "yes"}, 0.0),
        ("PARTIAL", {"idk": "partly"}, 0.8),
        ("", {"idk": "yes"}, 0.0),
        ("", {"idk": "no"}, 0.8),
        ("UNANSWERABLE", {"idk": "yes"}, 1.0),
        ("UNANSWERABLE", {"idk": "partly"}, 0.0),
        ("CONVERSATIONAL", {"idk": "no"}, 0.0),
        ("CONVERSATIONAL", {"idk": "yes"}, 1.0),
        ("UNDERSPECIFIED", {"asks": "yes"}, 1.0),
        ("UNDERSPECIFIED", {"asks": "no"}, 0.0),
        ("UNDERSPECIFIED", {"asks": "no", "idk": "yes"}, 0.0),
    ],
)
def test_conditioning(label: str, replies: dict[str, str], conditioned: float) -> None:
    llm = judge(**{task: json.dumps({"verdict": verdict}) for task, verdict in replies.items()})
    found = values(llm, record(label))
    assert found["RB_llm_idk"] == conditioned
    assert found["RL_F_idk"] == {0.8: 0.5}.get(conditioned, conditioned)


def test_whether_an_answer_asks_that_cannot_be_read_is_a_half_and_is_said() -> None:
    measured = metric(judge(asks="Ja, sicher!")).measure([record("UNDERSPECIFIED")])
    assert measured["UNDERSPECIFIED<::>1"]["asks"] == 0.5
    assert measured.report is not None
    assert (
        "such as that of UNDERSPECIFIED<::>1: the reply to asks.jinja cannot be used"
        in measured.report.lines[0]
    )


def test_the_mark_is_the_median_of_several_judges() -> None:
    others = {"second_llm": judge(mark='{"mark": 3}'), "third_llm": judge(mark="no idea")}
    assert values(judge(), record(), **others)["RB_llm"] == pytest.approx((8 + 3) / 2 / 10)


@pytest.mark.parametrize(
    ("replies", "lacking", "said"),
    [
        ({"mark": '{"mark": 11}'}, "RB_llm", "mark: Input should be less than or equal to 10"),
        ({"mark": "A very good answer."}, "RB_llm", "there is no JSON in it"),
        ({"mark": LLMError("down")}, "RB_llm", "down"),
        ({"verdicts": '{"verdicts": [true]}'}, "RL_F", "at least 2 items"),
        ({"statements": '{"statements": []}'}, "RL_F", "finds no statement"),
        ({"idk": '{"verdict": "quizás"}'}, "idk_judge", "Input should be 'yes', 'partly' or 'no'"),
        ({"idk": '{"verdict": "quizás"}'}, "RB_llm_idk", "idk.jinja"),
    ],
)
def test_what_cannot_be_read_is_no_zero(replies: dict[str, Any], lacking: str, said: str) -> None:
    measured = metric(judge(**replies)).measure([record()])
    assert lacking not in measured["ANSWERABLE<::>1"]
    assert measured.report is not None
    assert said in measured.report.lines[0]


def test_half_a_reply_is_asked_for_again_and_read() -> None:
    llm = judge(verdicts=['{"verdicts": [true', '{"verdicts": [true, true]}'])
    assert values(llm, record())["RL_F"] == 1.0


def test_turns_without_passages_reference_or_a_known_label() -> None:
    unknown = record("NEW", labels={"answerability": "PERHAPS"}, evidence=Evidence())
    measured = metric(judge()).measure([unknown, record(answer="")])
    assert measured["NEW<::>1"] == {"idk_judge": 0.0}
    assert measured["ANSWERABLE<::>1"]["idk_judge"] == 1.0
    assert measured.report is not None
    said = "\n".join(measured.report.lines)
    for reason in (
        "no passage was shown",
        "no reference answer",
        "label PERHAPS is unknown",
        "metrics.mtrag.model",
    ):
        assert reason in said


def test_asking_again_gives_the_mean_and_the_judges_noise() -> None:
    llm = judge(mark=['{"mark": 6}', '{"mark": 8}', '{"mark": 10}'])
    measured = metric(llm, repeat=3).measure([record()])
    assert measured["ANSWERABLE<::>1"]["RB_llm"] == pytest.approx(0.8)
    assert llm.prompts[0].sampling["temperature"] == 1.0
    assert measured.report is not None
    assert any(
        "RB_llm: asked again, the judge differs from itself on 100% of 1" in line
        for line in measured.report.lines
    )


def test_the_headline_is_the_harmonic_mean_of_three_means() -> None:
    means = {"RB_alg_idk": 0.5, "RL_F_idk": 1.0, "RB_llm_idk": 0.5, "RL_F": 0.1}
    assert metric(judge()).conclude(means)["mtrag"] == pytest.approx(3 / (2 + 1 + 2))
    assert "mtrag" not in metric(judge()).conclude({"RL_F_idk": 1.0, "RB_llm_idk": 1.0})


def test_prompts_of_others(tmp_path: Path) -> None:
    (tmp_path / "mark.jinja").write_text(
        "<|user|>\nMark {{ answer }} against {{ reference }}!", encoding="utf-8"
    )
    llm = judge()
    values(llm, record(), prompts=tmp_path)
    (marked,) = (prompt for prompt in llm.prompts if prompt.task == "mark")
    assert marked.messages[-1].content == "Mark Made of leaves. Invented. against Leaves.!"
    with pytest.raises(ConfigError, match="has none of statements"):
        metric(judge(), prompts=tmp_path / "none")


def test_faithfulness_alone_asks_for_statements_alone() -> None:
    llm = judge()
    stage = metric(llm, measures="RL_F")
    found = stage.measure([record()])
    assert (found["ANSWERABLE<::>1"], stage.list_measures()) == ({"RL_F": 0.5}, ["RL_F"])
    assert [prompt.task for prompt in llm.prompts] == ["statements", "verdicts"]
    assert Scores([record()], {"m": stage}, {"m": found}).score_all().scores == {"RL_F": 0.5}
