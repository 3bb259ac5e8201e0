"""A chat without a terminal: questions, answers, sources, and what goes wrong."""

import threading
from pathlib import Path

import pytest

from chat_toys import SUGGESTIONS, Adds, Chat
from convrag import Rewrite
from convrag.api.errors import ConversationsUnusable, LLMError
from convrag.concurrency.cancellation import sleep
from convrag_tasks.chat.answer_display import PlainDisplay
from toys import Says

Output = pytest.CaptureFixture[str]


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path)


def test_query_answer_and_sources_in_their_order(chat: Chat, capsys: Output) -> None:
    assert chat.type("tea?", "  ", "why?") == 0
    assert capsys.readouterr().out.splitlines() == [
        "Conversation talk, a new one. Ask away; /help lists the commands.",
        "Searching for: tea?",
        "It is tea? [7][9]",
        "Corrected (citations of unknown passages are removed):",
        "It is tea? [7]",
        "Sources:",
        "  [7] text 0 - p0",
        "  1 more is not cited: /sources lists all",
        "Searching for: why? tea?",
        "It is why? [7][9]",
        "Corrected (citations of unknown passages are removed):",
        "It is why? [7]",
        "Sources:",
        "  [7] text 0 - p0",
        "  1 more is not cited: /sources lists all",
    ]


def test_a_query_of_the_users_own_replaces_the_last_answer(chat: Chat, capsys: Output) -> None:
    chat.type("/query too soon", "tea?", "why?", "/query copper kettles", "/query", "/again")
    out = capsys.readouterr().out
    assert "Searching for: copper kettles\nIt is why?" in out
    assert "Ask a question first." in out
    assert "/query TEXT answers" in out
    assert chat.questions == ["tea?", "why?"]
    assert chat.generator.histories == [0, 1, 1, 1]
    assert chat.kept[1].rewritten_query == "why? tea?"  # of /again


def test_suggestions_can_be_picked(tmp_path: Path, capsys: Output) -> None:
    llm = Says(SUGGESTIONS)
    chat = Chat(tmp_path, llm)
    chat.type("tea?", "/2", "/9", "/0", f"/{'9' * 5000}")
    out = capsys.readouterr().out
    assert "  /1 Why so?\n  /2 What else?\n  /3 And then?\n" in out
    assert "Too many?" not in out
    assert "> What else?\n" in out
    assert chat.questions == ["tea?", "What else?"]
    assert out.count("There is no suggestion") == 3
    (prompt, _) = llm.prompts
    assert prompt.task == "suggest"
    assert prompt.inputs == {
        "question": "tea?",
        "answer": "It is tea? [7]",
        "titles": [],
        "count": 3,
    }


def test_ctrl_c_leaves_out_the_suggestions_and_keeps_the_turn(
    tmp_path: Path, capsys: Output
) -> None:
    """It was said that the turn was not kept, and it was."""
    chat = Chat(tmp_path, Says(KeyboardInterrupt()))
    assert chat.type("tea?", "why?") == 0
    assert "not kept" not in capsys.readouterr().out
    assert chat.questions == ["tea?", "why?"]


def test_any_fault_of_the_suggesting_llm_leaves_the_chat(tmp_path: Path, capsys: Output) -> None:
    """A plugin's KeyError ended the chat."""
    chat = Chat(tmp_path, Says(KeyError("choices")))
    assert chat.type("tea?", "why?") == 0
    assert capsys.readouterr().out.count("No suggestions from here on: KeyError: 'choices'") == 1
    assert chat.questions == ["tea?", "why?"]


def test_what_fails_is_said_and_the_chat_goes_on(chat: Chat, capsys: Output) -> None:
    assert chat.type("BOOM", "/history", "/reset", "tea?") == 0
    out = capsys.readouterr().out
    assert "No answer: retriever: OSError: the index is gone" in out
    assert "> BOOM\n(no answer)" in out
    assert "It is tea?" in out


def test_an_answer_that_breaks_off_is_said_and_not_kept(chat: Chat, capsys: Output) -> None:
    assert chat.type("BREAK", "tea?", "/history") == 0
    out = capsys.readouterr().out
    assert "It is \nNo answer: generator: the stream broke\nWhat is shown above is not kept" in out
    assert "> BREAK\n(no answer)\n> tea?\nIt is tea? [7]\n" in out
    assert [record.answer.text for record in chat.kept] == ["", "It is tea? [7]"]


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), LLMError("the stream broke")])
def test_a_second_answer_that_breaks_off_leaves_the_first(
    chat: Chat, raised: BaseException
) -> None:
    """The first answer was lost, in memory and on disk."""
    chat.type("tea?")
    chat.generator.raises = raised
    chat.type("/query kettle", "/again")
    for records in (chat.chat.records, chat.kept):
        assert [(record.original_query, record.answer.text) for record in records] == [
            ("tea?", "It is tea? [7]")
        ]


def test_ctrl_c_in_the_midst_of_an_answer_drops_the_turn_and_the_chat_goes_on(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    resumed: list[str] = []
    monkeypatch.setattr(
        "convrag_tasks.chat.loop.resume", lambda: resumed.append("the next one is the first again")
    )
    chat.generator.raises = KeyboardInterrupt()
    assert chat.type("tea?") == 0
    assert len(resumed) == 1
    chat.generator.raises = None
    chat.type("why?")
    out = capsys.readouterr().out
    assert "Interrupted; this turn is not kept." in out
    assert chat.questions == ["why?"]


def test_a_full_disk_is_said_and_the_prompt_returns(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def fail(*_: object) -> None:
        raise ConversationsUnusable("the disk is full")

    monkeypatch.setattr(chat.conversations, "append", fail)
    assert chat.type("tea?", "/history") == 0
    out = capsys.readouterr().out
    assert "This turn is not kept: the disk is full" in out
    assert "> tea?" not in out


def test_what_another_process_adds_belongs_to_the_conversation(
    chat: Chat, tmp_path: Path, capsys: Output
) -> None:
    chat.type("tea?")
    Chat(tmp_path).type("why?")
    chat.type("how?", "/history")
    assert "> tea?" in capsys.readouterr().out
    assert [record.original_query for record in chat.chat.records] == ["tea?", "why?", "how?"]


def test_a_run_that_is_stopped_ends_with_status_1(chat: Chat, capsys: Output) -> None:
    assert chat.type("stop", "tea?") == 1
    assert capsys.readouterr().out.endswith("the cost limit is reached\n")


def test_ctrl_c_at_the_prompt_clears_the_line_and_twice_leaves(chat: Chat, capsys: Output) -> None:
    assert (
        chat.type(KeyboardInterrupt, "tea?", KeyboardInterrupt, KeyboardInterrupt, "not read") == 0
    )
    assert capsys.readouterr().out.count("Ctrl-C again, or Ctrl-D, leaves.") == 2
    assert chat.questions == ["tea?"]
    chat.type(KeyboardInterrupt, KeyboardInterrupt, "why?", typed="half a line")
    assert chat.questions == ["tea?", "why?"]
    chat.type(KeyboardInterrupt, "not read", leaves_at_interrupt=True)
    assert chat.questions == ["tea?", "why?"]


def test_a_conversation_is_taken_up_again(chat: Chat, tmp_path: Path) -> None:
    chat.type("tea?")
    again = Chat(tmp_path)
    again.type("why?")
    assert again.generator.histories == [1]
    assert again.questions == ["tea?", "why?"]


@pytest.mark.parametrize("hears", [True, False])
def test_ctrl_c_ends_the_waits_of_a_turn_and_waits_for_none(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, capsys: Output, hears: bool
) -> None:
    """A fit in C code, say, hears of nothing."""
    ended, hang = threading.Event(), threading.Event()

    def rewrite(*_: object) -> Rewrite:
        try:
            if hears:
                sleep(60)
            hang.wait(60)
        finally:
            ended.set()
        return Rewrite.of("too late")

    def interrupt(_: PlainDisplay) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Adds, "rewrite", rewrite)
    monkeypatch.setattr(PlainDisplay, "tick", interrupt)
    chat.type("tea?")
    assert ended.wait(60) if hears else not ended.is_set()
    hang.set()
    assert chat.questions == []
    assert "Interrupted; this turn is not kept." in capsys.readouterr().out
