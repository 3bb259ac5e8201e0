"""dataset=simulated and metrics=goal_success: users by rules and by a model, what ends a
conversation, a grid.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from convrag import Answer, ConvragError, LLMError, Passage, TurnRecord
from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag.sdk.data.simulated import ask_turns
from convrag.testing import DatasetContract, MetricsContract
from convrag.turn.wiring import Wiring
from convrag_datasets.jsonl import SampleDataset
from convrag_datasets.simulated import SimulatedDataset
from convrag_metrics.goal_success import GoalSuccessMetrics
from toys import Corpora, Says

FACTS = [
    {
        "fact": "It is 384,400 kilometres away.",
        "question": "How far is it?",
        "again": "How far is the Moon?",
    },
    {
        "fact": "It is made of rock.",
        "question": "What is it made of?",
        "again": "What is the Moon made of?",
    },
]
MOON = {"id": "moon", "goal": "Learn about the Moon.", "facts": FACTS}
KNOWS = {
    "How far is the Moon?": "It is 384,400 kilometres away [1].",
    "What is it made of?": "Made of rock.",
}


class Rules(Says):
    """No language model."""

    tasks = frozenset()


def users(folder: Path, *rows: Any, **options: Any) -> SimulatedDataset:
    path = folder / "users.jsonl"
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows),
        encoding="utf-8",
    )
    return SimulatedDataset(path=path, corpus=SampleDataset(), **options)


def know(question: str) -> str:
    return KNOWS.get(question, "")


def talk(dataset: SimulatedDataset, answer: Callable[[str], str] = know) -> list[TurnRecord]:
    """The records of the first user's conversation with a system that answers so."""
    records: list[TurnRecord] = []
    (conversation, *_) = dataset.conversations()
    for number, turn in enumerate(ask_turns(conversation, records), 1):
        said = Answer(answer(turn.question))
        records.append(
            TurnRecord(
                "moon", turn.id, "default", number, turn.question, answer=said, labels=turn.labels
            )
        )
    return records


def measure(
    dataset: SimulatedDataset, records: list[TurnRecord], **options: Any
) -> dict[str, float]:
    metric = GoalSuccessMetrics(**{"dataset": dataset, "llm": Rules(), **options})
    (values,) = metric.measure(records).values()
    return dict(values)


class TestDataset(DatasetContract):
    def make(self) -> SimulatedDataset:
        return SimulatedDataset()


class TestMetrics(MetricsContract):
    def make(self) -> GoalSuccessMetrics:
        return GoalSuccessMetrics(dataset=SimulatedDataset(), llm=Rules())

    def records(self) -> list[TurnRecord]:
        first = TurnRecord(
            "rover",
            "rover<::>1",
            "default",
            1,
            "How heavy was it?",
            answer=Answer("210 kilograms."),
        )
        return [
            first,
            replace(first, turn_id="rover<::>2", answer=Answer(""), error="retriever: down"),
        ]


def test_rules_ask_for_each_fact_and_once_more_where_the_answer_lacks_it(tmp_path: Path) -> None:
    data = users(tmp_path, MOON, confirm=True)
    records = talk(data)
    assert [
        (each.original_query, each.labels["asked"], each.labels.get("goal")) for each in records
    ] == [
        ("How far is it?", "first", None),
        ("How far is the Moon?", "again", None),
        ("What is it made of?", "first", "reached"),
        ("How far is the Moon?", "confirm", None),
    ]
    kept = measure(data, records)
    assert [
        kept[name] for name in ("goal_reached", "turns_left", "turns_needed", "questions_repeated")
    ] == [1, 7, 3, 1]
    assert (kept["facts_given"], kept["facts_kept"]) == (1, 1)
    lost = [*records[:-1], replace(records[-1], answer=Answer("I do not know."))]
    assert measure(data, lost) == {**kept, "facts_kept": 0}


def test_a_fact_without_a_question_is_a_known_item(tmp_path: Path) -> None:
    """Rules ask for its rarest words, and again with the goal."""
    fact = "It circles the Earth once in 27 days, at an average distance."
    first, second = talk(users(tmp_path, {**MOON, "facts": [fact]}))
    assert first.original_query == "circles Earth days"
    assert second.original_query == "Learn about the Moon. circles Earth days"


def test_without_reference_answers_the_documents_are_known_items() -> None:
    passages = [
        Passage("tea-0", "Green tea brews at eighty degrees.", "Drinks > Tea"),
        Passage("tea-1", "Black tea needs boiling water instantly.", "Drinks > Tea"),
        Passage("nothing", "And so on.", "Rest"),
    ]
    (conversation,) = SimulatedDataset(corpus=Corpora(default=passages)).conversations()
    (turn,) = conversation.turns
    assert turn.question == "Tea Green brews eighty"
    assert turn.answer == "Green tea brews at eighty degrees."
    assert [fact.question for fact in conversation.facts] == [  # type: ignore[attr-defined]
        "Tea Green brews eighty",
        "Black needs boiling",
    ]


def test_a_number_that_is_wrong_gives_no_fact(tmp_path: Path) -> None:
    records = talk(
        users(tmp_path, MOON), lambda text: "It is 300,000 kilometres away, and made of rock."
    )
    assert [record.labels["asked"] for record in records] == ["first", "again"], "the rock was told"
    assert records[-1].labels["goal"] == "given up"


@pytest.mark.parametrize(
    ("row", "turns", "end"),
    [
        (MOON, 1, "turns over"),
        ({**MOON, "answer": "It is 384,400 kilometres away."}, 10, "reached"),
        (
            {**MOON, "question": "Hm?", "facts": FACTS[:1] * 2},
            2,
            "reached",
        ),  # in place of the first fact's
    ],
)
def test_what_ends_a_conversation(
    row: dict[str, Any], turns: int, end: str, tmp_path: Path
) -> None:
    data = users(tmp_path, row, turns=turns)
    records = talk(data)
    assert records[-1].labels["goal"] == end
    assert measure(data, records)["turns_left"] == (turns - len(records) if end == "reached" else 0)
    assert data.report(records).lines == (f"Simulated users, goals: {end} 1.",)  # type: ignore[union-attr]


def test_a_model_plays_the_user_and_says_when_it_is_content(tmp_path: Path) -> None:
    again = '{"say": "How far is the Moon?", "fact": 1, "again": true}'
    model = Says('{"say": "How far is it?", "fact": 1}', "What?", again, '{"done": true}')
    data = users(tmp_path, {**MOON, "facts": ["It is 384,400 kilometres away."]}, llm=model)
    records = talk(data)
    assert [each.labels for each in records] == [
        {"fact": 1, "asked": "first"},
        {"fact": 1, "asked": "again", "goal": "reached"},
    ]
    told = model.prompts[1].messages[-1].content
    assert "You: How far is it?" in told
    assert "You can speak 9 more times" in told
    judge = Says('{"reason": "x", "verdicts": [true], "reached": false, "contradiction": true}')
    judged = measure(data, records, llm=judge)
    assert [judged[name] for name in ("goal_reached", "facts_given", "answers_contradict")] == [
        0,
        1,
        1,
    ]
    assert "answers_contradict" not in measure(data, records, llm=Says("no"))


@pytest.mark.parametrize(
    "reply", ["Sorry?", '{"done": false}', '{"say": 3}', LLMError("down", model="says")]
)
def test_a_model_without_a_usable_reply_ends_the_conversation(reply: Any, tmp_path: Path) -> None:
    (record,) = talk(users(tmp_path, {**MOON, "facts": ["x"]}, llm=Says(reply)))
    assert (record.original_query, record.labels["goal"]) == (
        "Learn about the Moon.",
        "no usable reply",
    )
    assert record.fallbacks["dataset"].startswith("the model that plays the user failed: ")


def test_a_model_that_finds_its_words_later_has_asked_the_goal_and_the_record_says_so(
    tmp_path: Path,
) -> None:
    later = Says("Sorry?", "Sorry?", '{"say": "How old is it?", "fact": 2}', '{"done": true}')
    first, second = talk(users(tmp_path, {**MOON, "facts": ["x", "y"]}, llm=later))
    assert first.original_query == "Learn about the Moon."
    assert first.fallbacks["dataset"].startswith("the model that plays the user failed: ")
    assert (second.original_query, second.labels["goal"], second.fallbacks) == (
        "How old is it?",
        "reached",
        {},
    )


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "a", "facts": FACTS}, "line 2: user: there is no 'goal'"),
        ({**MOON, "id": "a", "facts": []}, "line 2: user.facts: this list is empty"),
        (
            {**MOON, "id": "a", "gaol": ""},
            "line 2: user: unknown key 'gaol'; known are id, goal, facts",
        ),
        (
            {**MOON, "id": "a", "domain": "x"},
            "line 2: user: the domain 'x' is none of the corpus: default",
        ),
        (
            {**MOON, "id": "a", "facts": [{"fact": "x", "why": 1}]},
            "line 2: user.facts[0]: unknown key 'why'",
        ),
        (MOON, "line 2: the user id 'moon' occurs twice"),
        ('{"id": ', "line 2: this is not JSON"),
    ],
)
def test_bad_input_is_named_with_its_line(row: Any, told: str, tmp_path: Path) -> None:
    (problem,) = users(tmp_path, MOON, row).check()
    assert told in problem
    assert str(tmp_path / "users.jsonl") in problem


def test_a_file_without_users_and_a_path_without_a_corpus_are_told(tmp_path: Path) -> None:
    assert ["no users" in problem for problem in users(tmp_path).check()] == [True]
    with pytest.raises(
        ConvragError, match=r"dataset\.path needs a data set .* dataset\.corpus=documents"
    ):
        SimulatedDataset(path=tmp_path)
    (problem,) = SimulatedDataset(corpus=Corpora(default=[])).check()
    assert "no reference answers to make users of" in problem


def test_a_run_over_what_task_questions_has_written_is_a_data_set(here: Path) -> None:
    fast = ("generator=direct", "tracker=none", "report=false")
    written = compose("task=questions", "task.conversations=5", "task.turns=2", *fast)
    assert Wiring(written).get("task").execute(written, here) == 0
    corpus = (
        "dataset.corpus=questions",
        "dataset.corpus.path=questions",
        "dataset.corpus.corpus=sample",
    )
    users = ("dataset=simulated", *corpus, "metrics=goal_success", *fast)
    _, summary = run_experiment(compose(*users), here / "run")
    assert (
        summary.intervals["turns_left"][0]
        <= summary.overall["turns_left"]
        <= summary.intervals["turns_left"][1]
    )
    chosen = compose(*users, "dataset.records=run")
    _, again = run_experiment(chosen, here / "again")
    assert (again.turns, again.overall) == (summary.turns, summary.overall)
    evaluate = compose(*users, "dataset.records=run", "task=evaluate", "task.records=run")
    assert Wiring(evaluate).get("task").execute(evaluate, here / "evaluated") == 0
    assert json.loads((here / "evaluated/metrics.json").read_text())["overall"] == summary.overall
