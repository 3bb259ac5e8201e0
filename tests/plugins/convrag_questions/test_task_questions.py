"""task=questions from the command's point of view: its files, what it says, and how it ends."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from convrag import ConfigError
from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag.testing import TaskContract
from convrag_questions.task import QuestionsTask, format_command
from llm_server import Server, make_reply
from question_toys import write_notes

FILES = ["conversations.jsonl", "qrels.tsv", "questions.json", "rewrites.jsonl"]


class TestTaskContract(TaskContract):
    overrides = ("task=questions",)

    def make(self) -> QuestionsTask:
        return QuestionsTask(conversations=1, turns=2)


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_command_that_is_printed_runs_on_the_questions(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = QuestionsTask(conversations=3, turns=3)
    assert task.execute(compose("tracker=none"), here / "run") == 0
    assert sorted(path.name for path in (here / "questions").iterdir()) == FILES
    conversations = read_rows(here / "questions/conversations.jsonl")
    assert len(conversations) == 3
    assert {turn["kind"] for each in conversations for turn in each["turns"]} >= {
        "opening",
        "follow_up",
    }
    said = capsys.readouterr().out
    assert "3 conversations, " in said
    assert "These are known-item questions, written without a language model" in said
    (command,) = (line for line in said.splitlines() if "python -m convrag" in line)
    _, _, _, _, rewriters, *data = shlex.split(command)
    assert rewriters == "rewriter=none,last_n,mmr"
    config = compose("rewriter=replay", "tracker=none", *data)
    _, summary = run_experiment(config, here / "measured")
    assert summary.state == "ok"
    assert summary.overall["nDCG@5"] > 0.5
    assert "kind" in summary.slices


def test_known_item_questions_are_headings_and_rare_words_of_the_passage(here: Path) -> None:
    (here / "leave.md").write_text(
        "# Handbook\n\n## Annual leave\n\nThe portal receives applications. Unused days lapse every "
        "January unless the director extends their validity. Sabbaticals require seniority and a replacement.\n"
    )
    config = compose("dataset=documents", f"dataset.path={here}/leave.md", "tracker=none")
    assert QuestionsTask(conversations=1, turns=2).execute(config, here / "run") == 0
    (conversation,) = read_rows(here / "questions/conversations.jsonl")
    opening, follow_up = conversation["turns"]
    text = (here / "leave.md").read_text()
    assert opening["question"].startswith("Annual leave ")
    assert all(word in text for word in opening["question"].split())
    assert all(word in opening["answer"] for word in opening["question"].split()[2:])
    assert all(word in follow_up["answer"] for word in follow_up["question"].split())
    standalone = read_rows(here / "questions/rewrites.jsonl")[1]["text"]
    assert standalone == f"Annual leave {follow_up['question']}"


def test_the_same_seed_writes_the_same_files(here: Path) -> None:
    for folder, seed in (("one", 0), ("two", 0), ("other", 1)):
        task = QuestionsTask(path=Path(folder), conversations=3, turns=2, seed=seed)
        assert task.execute(compose("tracker=none"), here) == 0
    assert read_texts(here / "one") == read_texts(here / "two") != read_texts(here / "other")


def test_files_that_somebody_edited_are_not_replaced(here: Path) -> None:
    task = QuestionsTask(conversations=1, turns=2)
    config = compose("tracker=none")
    assert task.execute(config, here) == task.execute(config, here) == 0
    path = here / "questions/conversations.jsonl"
    path.write_text(path.read_text().replace("question", "questions"))
    before = read_texts(here / "questions")
    with pytest.raises(
        ConfigError,
        match=r"task\.path=questions: conversations\.jsonl was not written by task=questi",
    ):
        task.execute(config, here)
    assert read_texts(here / "questions") == before


def test_a_file_in_the_place_of_the_folder_is_told(here: Path) -> None:
    (here / "questions").write_text("mine")
    with pytest.raises(ConfigError, match=r"task\.path=questions: this is a file"):
        QuestionsTask().execute(compose("tracker=none"), here)


def test_a_data_set_without_prose_is_told(here: Path) -> None:
    (here / "p.jsonl").write_text('{"_id": "p", "text": "Too short."}\n')
    with pytest.raises(
        ConfigError, match="there is nothing to ask about: no passage of this data set has 20 words"
    ):
        QuestionsTask().execute(compose("dataset=jsonl", "dataset.corpus=p.jsonl"), here)


def test_passages_that_give_no_question_are_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "p.jsonl").write_text(
        json.dumps({"_id": "p", "text": "And so it is what it is, the door. " * 5}) + "\n"
    )
    assert QuestionsTask().execute(compose("dataset=jsonl", "dataset.corpus=p.jsonl"), here) == 1
    assert (
        "0 of 10 conversations written: the passages gave no more questions"
        in capsys.readouterr().out
    )
    assert not (here / "questions").exists()


@pytest.mark.parametrize(
    ("overrides", "data"),
    [
        ([], "dataset.corpus=sample"),
        (["task=questions", "llm=claude"], "dataset.corpus=sample"),
        (
            ["dataset=documents", "dataset.path=my docs"],
            "dataset.corpus=documents 'dataset.corpus.path=my docs'",
        ),
        (
            ["dataset=jsonl", "dataset.corpus=p.jsonl"],
            "dataset.corpus=jsonl dataset.corpus.corpus=p.jsonl",
        ),
        (
            ["dataset=x", "chunker=tokens", "chunker.size=9"],
            "dataset.corpus=x chunker=tokens chunker.size=9",
        ),
    ],
)
def test_the_command_names_the_data_set_and_how_it_is_cut(overrides: list[str], data: str) -> None:
    expected = f"python -m convrag -m rewriter=none,last_n,mmr dataset=questions dataset.path=q {data} generator=none"
    assert format_command(overrides, Path("q"), "sample") == expected


class TestWithServer:
    """A language model behind llm=litellm, whose one reply is good for every prompt."""

    reply = json.dumps(
        {
            "question": "Where does one find what opens it?",
            "answer": "In the blue box.",
            "quote": "Whoever takes the key writes the name, the date and the time into the book",
            "same": True,
            "clear": True,
        }
    )

    def compose(self, here: Path, server: Server, *overrides: str) -> Any:
        notes = write_notes(here, {"red": 1, "green": 1, "white": 1})
        llm = (
            "llm=litellm",
            "llm.model=openai/local",
            f"llm.api_base={server.address}",
            "llm.retries=0",
        )
        prices = ("+llm.extra.input_cost_per_token=0.001", "+llm.extra.output_cost_per_token=0.001")
        data = ("dataset=jsonl", f"dataset.corpus={notes}")
        return compose(
            *llm, *prices, *data, "tracker=none", "workers=1", "llm.max_tokens=100", *overrides
        )

    def test_a_cost_limit_keeps_what_is_written_and_the_next_command_pays_for_the_rest(
        self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.plan_replies(make_reply(self.reply, prompt_tokens=300, completion_tokens=50))
        task = QuestionsTask(conversations=3, turns=1)
        assert task.execute(self.compose(here, server, "llm.max_cost_usd=3"), here) == 3
        first, said = len(server.requests), capsys.readouterr().out
        written = len(read_rows(here / "questions/conversations.jsonl"))
        assert 0 < written < 3
        assert f"{written} of 3 conversations written: " in said
        assert task.execute(self.compose(here, server), here) == 0
        distinct = (
            3 + 3 + 1 + 1
        )  # question and solve of each passage; all ask the same, which is judged once
        assert 0 < first < distinct == len(server.requests)
        assert len(read_rows(here / "questions/conversations.jsonl")) == 3
        assert task.execute(self.compose(here, server), here) == 0
        assert len(server.requests) == distinct
        assert "known-item" not in said

    def test_a_model_that_talks_is_counted_and_the_command_fails(
        self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.plan_replies(make_reply("Sure! Which question would you like?"))
        assert (
            QuestionsTask(conversations=1, turns=1).execute(self.compose(here, server), here) == 1
        )
        said = capsys.readouterr().out
        assert "1 time the model's replies could not be read." in said
        assert len(server.requests) == 2, (
            "the question, and that its reply cannot be read; no other passage is tried"
        )
        assert "0 of 1 conversation written: some calls brought no reply that could be used" in said
