"""The option task=chat: its parameters, its preset, and what ends it with an error."""

import json
from pathlib import Path

import pytest

from convrag.api.errors import ConfigError, UnknownName
from convrag.config.compose import compose
from convrag.testing import TaskContract
from convrag_tasks.chat.task import ChatTask
from tasks import run_task


class TestContract(TaskContract):
    def make(self) -> ChatTask:
        return ChatTask()


def test_the_domain_must_be_there_and_stay() -> None:
    with pytest.raises(ConfigError, match=r"task\.domain=\.\.\.: choose .*: a, b"):
        ChatTask()._choose_domain(None, ["a", "b"])
    with pytest.raises(UnknownName, match="task.domain"):
        ChatTask()._choose_domain("c", ["a", "b"])
    with pytest.raises(ConfigError, match="this conversation is about a"):
        ChatTask(domain="b")._choose_domain("a", ["a", "b"])
    assert ChatTask()._choose_domain(None, ["a"]) == "a"


def test_the_preset_chooses_the_seeds_stages_and_leaves_others_to_be_chosen() -> None:
    config = compose("+system=perplexity")
    chosen = {
        group: config[group]["_option_"]
        for group in ("rewriter", "retriever", "reranker", "context", "generator")
    }
    assert chosen == {
        "rewriter": "condense",
        "retriever": "hybrid",
        "reranker": "cross_encoder",
        "context": "snippets",
        "generator": "chat",
    }
    assert (config.top_k, config.top_n) == (15, 6)
    assert (config.rewriter.temperature, config.rewriter.max_tokens, config.rewriter.top_p) == (
        0.2,
        150,
        0.9,
    )
    assert (config.generator.temperature, config.generator.max_tokens, config.generator.top_p) == (
        0.35,
        2000,
        0.9,
    )
    assert (config.rewriter.gate, config.rewriter.short, config.generator.evidence) == (
        "heuristic",
        8,
        "every_turn",
    )
    other = compose("+system=perplexity", "rewriter=last_n", "top_k=30")
    assert (other.rewriter["_option_"], other.top_k, other.generator["_option_"]) == (
        "last_n",
        30,
        "chat",
    )


def test_a_conversation_goes_on_with_what_it_was_begun_with_alone(tmp_path: Path) -> None:
    """A chat over one's own files went on silently over the sample about the Moon."""
    (tmp_path / "corpus.jsonl").write_text(
        json.dumps({"_id": "a", "text": "Tea is a drink."}) + "\n"
    )
    mine = ["dataset=jsonl", f"dataset.corpus={tmp_path / 'corpus.jsonl'}"]
    chat = ["task=chat", "task.conversation=talk", "task.suggestions=0"]
    begun = run_task([*chat, *mine], tmp_path, stdin="tea?\n")
    assert begun.returncode == 0, begun.stderr
    done = run_task(chat, tmp_path, stdin="How far is the Moon?\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "conversation 'talk' was begun with dataset=jsonl; this is dataset=sample" in done.stderr
    assert "Traceback" not in done.stderr
    again = run_task([*chat, *mine], tmp_path, stdin="/history\n")
    assert "Conversation talk, 1 turn so far." in again.stdout


def test_the_database_of_the_conversations_can_be_chosen(tmp_path: Path) -> None:
    chat = [
        "task=chat",
        "task.conversation=talk",
        "task.suggestions=0",
        "task.conversations=mine.db",
    ]
    done = run_task(chat, tmp_path, stdin="How far is the Moon?\n")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mine.db").is_file()
    assert not (tmp_path / "outputs/store/conversations.db").exists()
    bad = run_task([*chat[:-1], "task.conversations=mysql://x/y"], tmp_path)
    assert (bad.returncode, "Traceback" in bad.stderr) == (2, False)
    assert "mysql" in bad.stderr
