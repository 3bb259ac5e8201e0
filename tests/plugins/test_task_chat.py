from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import run_convrag
from convrag.api.errors import ConfigError, ConversationsUnusable, LLMError, RunStopped, UnknownName
from convrag.api.models import LLM
from convrag.api.records import TurnRecord
from convrag.api.stages import Generator, Rewriter
from convrag.api.types import Answer, Completion, Evidence, EvidenceItem, Passage, Prompt, Question, Rewrite
from convrag.config.compose import compose
from convrag.sdk.prompts import PromptTemplate
from convrag.store.streaming import current_listener
from convrag.testing import TaskContract
from convrag.turn.conversations import Conversations
from convrag.turn.pipeline import Pipeline
from convrag_tasks.chat import ChatTask
from convrag_tasks.chat_conversation import ChatConversation, make_conversation_id
from convrag_tasks.chat_follow_ups import FollowUpSuggester
from convrag_tasks.chat_loop import ChatLoop
from convrag_tasks.chat_terminal import Terminal
from llm_server import DONE, Server, Step, make_event
from toys import EvenRanker, ListRetriever, PlainContext


class TestContract(TaskContract):
    def make(self) -> ChatTask:
        return ChatTask()


class Adds(Rewriter):
    """Adds the last question."""

    def rewrite(self, question: Question) -> Rewrite:
        return Rewrite.of(" ".join([question.text, *(turn.question for turn in question.history[-1:])]))


class Streams(Generator):
    """Says its first passage in two pieces, cites it, and numbers from 7."""

    streams = True

    def __init__(self) -> None:
        self.interrupt = False
        self.breaks = False
        self.histories: list[int] = []

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        if self.interrupt:
            raise KeyboardInterrupt
        if "stop" in question.text:
            raise RunStopped("the cost limit is reached")
        self.histories.append(len(question.history))
        first = evidence.items[0].passage
        if listener := current_listener():
            listener("It is ")
            if self.breaks or "BREAK" in question.text:
                raise LLMError("the stream broke")
            listener(f"{question.text} [7][9]")
        text = f"It is {question.text} [7]"
        return Answer(text, (first.id,), {"numbers": {first.id: 7, evidence.items[1].passage.id: 8}})


class Suggests(LLM):
    """Suggests the same to everybody."""

    def __init__(self, reply: str = "1. Why so?\n- What else?\n\nWhy so?\n3) And then?\nToo many?") -> None:
        self.reply = reply
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        return Completion(self.reply)

    def count_tokens(self, text: str) -> int:
        return len(text)


class Chat:
    """A chat whose lines are given beforehand."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, llm: LLM | None = None, **options: bool) -> None:
        self.folder = folder
        self.monkeypatch = monkeypatch
        self.generator = Streams()
        self.conversations = Conversations(folder / "conversations.db")
        pipeline = Pipeline(
            rewriter=Adds(),
            retriever=ListRetriever(),
            reranker=EvenRanker(),
            context=PlainContext(),
            generator=self.generator,
            conversations=self.conversations,
        )
        terminal = Terminal(**options)
        self.chat = ChatConversation(pipeline, terminal, self.conversations.open("talk", "default"))
        template = PromptTemplate("suggest", package="convrag_tasks")
        self.loop = ChatLoop(self.chat, FollowUpSuggester(llm, template, 3) if llm else None, folder)

    def type(self, *lines: str | type[BaseException]) -> int:
        given = iter(lines)

        def read(_: str = "") -> str:
            line = next(given, None)
            if line is None:
                raise EOFError
            if isinstance(line, str):
                return line
            raise line

        self.monkeypatch.setattr("builtins.input", read)
        return self.loop.run()

    def questions(self, name: str = "talk") -> list[str]:
        return [turn["question"] for turn in saved_turns(self.folder, name)]


def saved_turns(store: Path, name: str) -> list[dict[str, Any]]:
    records = Conversations(store / "conversations.db").records(name)
    return [{"id": each.turn_id, "question": each.original_query, "answer": each.answer.text} for each in records]


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chat:
    return Chat(tmp_path, monkeypatch)


def test_query_answer_and_sources_in_their_order(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    assert chat.type("tea?", "  ", "why?") == 0
    assert capsys.readouterr().out.splitlines() == [
        "Conversation talk. Ask away; /help lists the commands.",
        "Searching for: tea?",
        "It is tea? [7][9]",
        "Corrected (citations of unknown passages are removed): It is tea? [7]",
        "Sources:",
        "  [7] text 0 - p0",
        "  [8] text 1 - p1 (not cited)",
        "Searching for: why? tea?",
        "It is why? [7][9]",
        "Corrected (citations of unknown passages are removed): It is why? [7]",
        "Sources:",
        "  [7] text 0 - p0",
        "  [8] text 1 - p1 (not cited)",
        "To go on: task=chat task.conversation=talk",
    ]


def test_a_query_of_the_users_own_replaces_the_last_answer(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    chat.type("/query too soon", "tea?", "why?", "/query copper kettles", "/query")
    out = capsys.readouterr().out
    assert "Searching for: copper kettles\nIt is why?" in out
    assert out.count("Ask a question first") == 2
    assert chat.questions() == ["tea?", "why?"]
    assert chat.generator.histories == [0, 1, 1]


def test_an_interrupted_second_answer_leaves_the_first(chat: Chat) -> None:
    chat.type("tea?")
    chat.generator.interrupt = True
    chat.type("/query kettle", "lost?")
    assert [turn.question for turn in chat.chat.conversation.history] == ["tea?"]
    assert chat.questions() == ["tea?"]


def test_rewriting_can_be_switched_off(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    chat.type("tea?", "/rewrite off", "why?", "/rewrite on", "how?", "/rewrite")
    searched = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Searching")]
    assert searched == ["Searching for: tea?", "Searching for: why?", "Searching for: how? why?"]


def test_confirming_each_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = Chat(tmp_path, monkeypatch, confirm=True)
    records: list[TurnRecord] = []
    ask = chat.chat.ask
    monkeypatch.setattr(chat.chat, "ask", lambda *given: records.append(ask(*given)) or records[-1])
    chat.type("tea?", "", "why?", "/query steam", "how?", "kettle", "BOOM?", "x")
    assert [record.rewritten_query for record in records] == ["tea?", "steam", "kettle", "x"]
    assert records[1].trace["rewriter"] == {"edited": True}


def test_suggestions_can_be_picked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    llm = Suggests()
    chat = Chat(tmp_path, monkeypatch, llm)
    chat.type("tea?", "/2", "/9", "/0")
    out = capsys.readouterr().out
    assert "  /1 Why so?\n  /2 What else?\n  /3 And then?\n" in out
    assert "Too many?" not in out
    assert "> What else?\n" in out
    assert chat.questions() == ["tea?", "What else?"]
    assert out.count("There is no suggestion") == 2
    (prompt, _) = llm.prompts
    assert prompt.task == "suggest"
    assert prompt.inputs == {"question": "tea?", "answer": "It is tea? [7]", "titles": [], "count": 3}


def test_an_llm_that_cannot_suggest_is_asked_once() -> None:
    class Cannot(Suggests):
        def complete(self, prompt: Prompt) -> Completion:
            super().complete(prompt)
            raise LLMError("it is no language model")

    llm, said = Cannot(), list[str]()
    suggester = FollowUpSuggester(llm, PromptTemplate("suggest", package="convrag_tasks"), 3)
    items = (EvidenceItem(1, Passage("a", "text", title="Unused"), "text"),)
    record = TurnRecord("c", "c<::>1", "default", 1, "tea?", evidence=Evidence(items), answer=Answer("Yes."))
    for _ in range(2):
        assert suggester.suggest(record, lambda line, style: said.append(line)) == []
    assert len(llm.prompts) == len(said) == 1
    assert "- Unused" in llm.prompts[0].messages[0].content


def test_what_fails_is_said_and_the_chat_goes_on(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    assert chat.type("BOOM", "/history", "/rewrite off", "tea?") == 0
    out = capsys.readouterr().out
    assert "No answer: retriever: OSError: the index is gone" in out
    assert "> BOOM\n(no answer)" in out
    assert "It is tea?" in out


def test_an_answer_that_breaks_off_is_said_and_not_kept(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    assert chat.type("BREAK", "tea?", "/history") == 0
    out = capsys.readouterr().out
    assert "It is \nNo answer: generator: the stream broke\nWhat is shown above is not kept" in out
    assert "> BREAK\n(no answer)\n> tea?\nIt is tea? [7]\n" in out
    assert [turn["answer"] for turn in saved_turns(chat.folder, "talk")] == ["", "It is tea? [7]"]


def test_a_second_answer_that_breaks_off_leaves_the_first(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    """The first answer was lost, in memory and on disk."""
    chat.type("tea?")
    chat.generator.breaks = True
    chat.type("/query kettle")
    assert "No answer: generator: the stream broke" in capsys.readouterr().out
    assert [turn.answer for turn in chat.chat.conversation.history] == ["It is tea? [7]"]
    assert [turn["answer"] for turn in saved_turns(chat.folder, "talk")] == ["It is tea? [7]"]


def test_any_fault_of_the_suggesting_llm_leaves_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plugin's KeyError ended the chat."""

    class Faulty(Suggests):
        def complete(self, prompt: Prompt) -> Completion:
            raise KeyError("choices")

    chat = Chat(tmp_path, monkeypatch, Faulty())
    assert chat.type("tea?", "why?") == 0
    assert capsys.readouterr().out.count("No suggestions from here on: KeyError: 'choices'") == 1
    assert chat.questions() == ["tea?", "why?"]


def test_a_full_disk_is_said_and_the_prompt_returns(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ConversationsUnusable("the disk is full")

    monkeypatch.setattr(chat.conversations, "append", fail)
    assert chat.type("tea?", "/history") == 0
    out = capsys.readouterr().out
    assert "This turn is not kept: the disk is full" in out
    assert "> tea?" not in out


def test_a_run_that_is_stopped_ends_with_status_1(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    assert chat.type("stop", "tea?") == 1
    assert capsys.readouterr().out.endswith("the cost limit is reached\n")


def test_interruptions(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    chat.generator.interrupt = True
    assert chat.type("tea?", KeyboardInterrupt, "not read") == 0
    assert "Interrupted; this turn is not kept" in capsys.readouterr().out
    assert chat.chat.conversation.history == []


def test_save_reset_history_help(chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chat.type(
        "/history", "tea?", "/save", f"/save {tmp_path}/no/such/folder.md", "/reset", "/history", "/help", "/x", "/quit"
    )
    out = capsys.readouterr().out
    assert (tmp_path / "talk.md").read_text(encoding="utf-8") == (
        "# talk\n\n## tea?\n\nIt is tea? [7]\n\n- text 0 (p0)\n- text 1 (p1)\n- text 2 (p2)\n"
    )
    assert "It could not be saved" in out
    assert out.count("Nothing was said yet.") == 2
    assert out.count("/reset          begin") == 2
    assert "There is no command /x." in out
    assert chat.questions() == ["tea?"]  # the old one is still on disk
    assert chat.chat.conversation.id != "talk"


def test_a_conversation_is_taken_up_again(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.type("tea?")
    again = Chat(chat.folder, monkeypatch)
    again.type("why?")
    assert again.generator.histories == [1]
    assert again.questions() == ["tea?", "why?"]


def test_new_conversation_ids_are_file_names() -> None:
    names = {make_conversation_id() for _ in range(50)}
    assert len(names) > 40
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}", name) for name in names)


# The command -----------------------------------------------------------------------------------------------------


def convrag(folder: Path, *arguments: str, lines: str) -> subprocess.CompletedProcess[str]:
    return run_convrag(["task=chat", *arguments], folder, stdin=lines)


def test_a_piped_conversation(tmp_path: Path) -> None:
    done = convrag(tmp_path, "task.conversation=moon", lines="How far is the Moon?\n/quit\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Searching for: How far is the Moon?" in done.stdout
    assert "Sources:" in done.stdout
    assert "No suggestions from here on: llm=extractive" in done.stdout
    (turn,) = saved_turns(tmp_path / "outputs/store", "moon")
    assert turn["question"] == "How far is the Moon?"
    assert turn["answer"]
    again = convrag(tmp_path, "task.conversation=moon", "task.suggestions=0", lines="/history\nWhat about its age?\n")
    assert "Conversation moon, 1 turns so far." in again.stdout
    assert "> How far is the Moon?" in again.stdout
    assert "No suggestions" not in again.stdout
    assert [turn["id"] for turn in saved_turns(tmp_path / "outputs/store", "moon")] == ["moon<::>1", "moon<::>2"]


def test_mistakes_exit_with_2(tmp_path: Path) -> None:
    done = convrag(tmp_path, "task.domain=nosuch", lines="")
    assert (done.returncode, "nosuch" in done.stderr) == (2, True)
    assert "Traceback" not in done.stderr


def test_the_domain_must_be_there_and_stay() -> None:
    with pytest.raises(ConfigError, match=r"task\.domain=\.\.\.: choose .*: a, b"):
        ChatTask()._choose_domain(None, ["a", "b"])
    with pytest.raises(UnknownName, match="task.domain"):
        ChatTask()._choose_domain("c", ["a", "b"])
    with pytest.raises(ConfigError, match="this conversation is about a"):
        ChatTask(domain="b")._choose_domain("a", ["a", "b"])
    assert ChatTask()._choose_domain(None, ["a"]) == "a"
    with pytest.raises(ConfigError, match="task.suggestions=-1"):
        ChatTask(suggestions=-1)


def test_the_preset_chooses_the_seeds_stages_and_leaves_others_to_be_chosen() -> None:
    config = compose("+system=perplexity")
    chosen = {
        group: config[group]["_option_"] for group in ("rewriter", "retriever", "reranker", "context", "generator")
    }
    assert chosen == {
        "rewriter": "condense",
        "retriever": "hybrid",
        "reranker": "cross_encoder",
        "context": "snippets",
        "generator": "chat",
    }
    assert (config.top_k, config.top_n) == (15, 6)
    assert (config.rewriter.temperature, config.rewriter.max_tokens, config.rewriter.top_p) == (0.2, 150, 0.9)
    assert (config.generator.temperature, config.generator.max_tokens, config.generator.top_p) == (0.35, 2000, 0.9)
    assert (config.rewriter.gate, config.rewriter.short, config.generator.evidence) == ("heuristic", 8, "every_turn")
    other = compose("+system=perplexity", "rewriter=last_n", "top_k=30")
    assert (other.rewriter["_option_"], other.top_k, other.generator["_option_"]) == ("last_n", 30, "chat")


@pytest.mark.integration
def test_faults_of_a_streamed_answer_leave_the_prompt_and_the_conversation(tmp_path: Path) -> None:
    pytest.importorskip("litellm")
    server = Server()
    whole = (make_event({"content": "A dog"}), make_event({"content": " [1]."}), make_event({}, "stop"), DONE)
    broken = (make_event({"content": "A "}), b'data: {"error": {"message": "overloaded"}}\n\n')
    cut = (make_event({"content": "A dog that"}), make_event({}, "length"), DONE)
    server.plan_replies(*(Step(events=events) for events in (whole, broken, broken, cut)))
    try:
        done = convrag(
            tmp_path,
            "task.conversation=moon",
            "task.suggestions=0",
            "llm=openai_compatible",
            "llm.model=openai/x",
            f"llm.api_base={server.address}",
            "rewriter=none",
            "generator=direct",
            lines="How far is the Moon?\n/query tea\nAnd Mars?\nAnd Venus?\n/history\n",
        )
    finally:
        server.close()
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("overloaded. A part of it was shown already") == 2
    assert done.stdout.count("What is shown above is not kept in the conversation.") == 2
    assert "1 reply was cut at max_tokens (generator 1)" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    turns = saved_turns(tmp_path / "outputs/store", "moon")
    assert [turn["answer"] for turn in turns] == ["A dog [1].", "", "A dog that"]


@pytest.mark.skipif(sys.platform == "win32", reason="reads bytes from a pipe")
def test_bytes_that_are_no_text_are_a_question_like_others(tmp_path: Path) -> None:
    """`printf 'moon \\xff\\n' | convrag task=chat` ended in a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "convrag", "task=chat", "task.suggestions=0"],
        input=b"moon \xff\n",
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Searching for: moon \ufffd" in done.stdout.decode()
