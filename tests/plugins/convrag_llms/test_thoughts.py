"""Replies with thoughts, and in parts: whole and streamed, through both options."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from convrag import Completion, LLMError, Message, Prompt, Store
from convrag.concurrency.streaming import listen_with, notify_with
from convrag.sdk.errors import CutReply
from convrag.sdk.llm.recording import format_reply
from convrag.store.remember import remember
from convrag_llms.reply import ReplyReader
from convrag_llms.thought_habits import ThoughtHabits
from llm_client import every_option, make_client
from llm_server import DONE, Server, Step, make_event, make_reply
from tasks import run_task

pytestmark = pytest.mark.integration

PROMPT = Prompt("answer", (Message("user", "Who was Laika?"),))
THOUGHT = "The user asks of Laika [2]."


def make_message(finish: str = "stop", usage: dict[str, Any] | None = None, **message: Any) -> Step:
    body = make_reply("", finish, **(usage or {}))
    body["choices"][0]["message"] = {"role": "assistant", **message}
    return Step(body=body)


def stream(deltas: Sequence[dict[str, Any]], finish: str = "stop") -> Step:
    events = [*(make_event(delta) for delta in deltas), make_event({}, finish), DONE]
    return Step(events=tuple(events))


PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
    {"type": "text", "text": "A "},
    {"type": "text", "text": "dog."},
]
MESSAGES: dict[str, dict[str, Any]] = {
    "tags": {"content": f"<think>\n{THOUGHT}\n</think>\n\nA dog."},
    "only the closing tag": {"content": f"{THOUGHT}\n</think>\n\nA dog."},
    "reasoning_content": {"content": "A dog.", "reasoning_content": THOUGHT},
    "reasoning": {"content": "A dog.", "reasoning": THOUGHT},
    "parts": {"content": PARTS},
}
"""Messages that say the same."""


def split(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a message into pieces of five characters, which cut tags."""
    deltas: list[dict[str, Any]] = []
    for name in ("reasoning_content", "reasoning", "content"):
        value = message.get(name, "")
        if isinstance(value, str):
            deltas += [{name: value[at : at + 5]} for at in range(0, len(value), 5)]
        else:
            deltas += [{name: [part]} for part in value]
    return deltas


def ask(server: Server, pieces: list[str] | None = None, **parameters: Any) -> Completion:
    with listen_with(None if pieces is None else pieces.append):
        return make_client(server, **parameters).complete(PROMPT)


@every_option
@pytest.mark.parametrize("form", MESSAGES)
def test_thoughts_are_no_text(server: Server, form: str) -> None:
    if server.option == "litellm" and form == "parts":
        pytest.skip("litellm takes texts alone from OpenAI's protocol")
    server.plan_replies(make_message(usage={"completion_tokens": 30}, **MESSAGES[form]))
    completion = ask(server)
    assert (completion.text, completion.reasoning) == ("A dog.", THOUGHT)
    assert completion.completion_tokens == 30
    assert 0 < completion.reasoning_tokens < 30


@every_option
@pytest.mark.parametrize("form", MESSAGES)
def test_thoughts_are_no_text_of_a_stream(server: Server, form: str) -> None:
    if server.option == "litellm" and form == "parts":
        pytest.skip("litellm takes texts alone from OpenAI's protocol")
    if form == "only the closing tag":
        server.plan_replies(make_message(**MESSAGES[form]))
        ask(server)  # from here on it is known that replies begin inside a thought
    server.plan_replies(stream(split(MESSAGES[form])))
    pieces: list[str] = []
    notices: list[str] = []
    with notify_with(lambda notice, _: notices.append(notice)):
        completion = ask(server, pieces)
    assert (completion.text, completion.reasoning) == ("A dog.", THOUGHT)
    assert "".join(pieces).strip() == "A dog."
    assert notices == ["The model thinks"]


@every_option
def test_the_first_stream_without_an_opening_tag_is_corrected_in_the_end(server: Server) -> None:
    server.plan_replies(stream(split(MESSAGES["only the closing tag"])))
    first: list[str] = []
    with notify_with(lambda _, restarts: first.clear() if restarts else None):
        assert ask(server, first).text == "A dog."
    assert "".join(first).strip() == "A dog."
    second: list[str] = []
    assert ask(server, second).text == "A dog."
    assert "".join(second).strip() == "A dog."


@every_option
def test_a_model_is_known_by_its_name_to_begin_inside_a_thought(server: Server) -> None:
    server.plan_replies(stream(split(MESSAGES["only the closing tag"])))
    pieces: list[str] = []
    assert ask(server, pieces, model="openai/Qwen3-4B-Thinking-2507").text == "A dog."
    assert "".join(pieces).strip() == "A dog."


def test_a_name_is_believed_until_a_reply_says_otherwise() -> None:
    habits = ThoughtHabits("deepseek-r1:8b")
    assert habits.begins_inside
    habits.observe(closed_unopened=False, is_apart=True)
    assert not habits.begins_inside
    assert not ThoughtHabits("qwen3:4b").begins_inside


@every_option
@pytest.mark.parametrize("streamed", [False, True])
def test_thoughts_alone_say_so_and_are_not_asked_for_again(server: Server, streamed: bool) -> None:
    message = {"content": f"<think>{THOUGHT}"}
    usage = {"completion_tokens": 512}
    whole = make_message("length", usage, **message)
    server.plan_replies(stream(split(message), "length") if streamed else whole)
    with pytest.raises(CutReply) as raised:
        ask(server, [] if streamed else None)
    assert len(server.requests) == 1
    tokens = "" if streamed else "512 tokens "
    assert (
        f"{tokens}and wrote nothing: raise llm.max_tokens, or set llm.extra.reasoning_effort=none"
    ) in str(raised.value)


@every_option
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_thoughts_alone_are_a_reply_for_a_prompt_that_reads_them(
    server: Server, streamed: bool, finish: str
) -> None:
    message = {"content": f"<think>{THOUGHT}"}
    usage = {"completion_tokens": 30}
    whole = make_message(finish, usage, **message)
    server.plan_replies(stream(split(message), finish) if streamed else whole)
    prompt = replace(PROMPT, reads_thoughts=True)
    pieces: list[str] = []
    prices = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}
    client = make_client(server, model="openai/priced-thoughts", extra=prices)
    with listen_with(pieces.append if streamed else None):
        completion = client.complete(prompt)
    assert (completion.text, completion.reasoning) == ("", THOUGHT)
    assert completion.finish_reason == finish
    assert len(server.requests) == 1
    if not streamed:
        assert completion.completion_tokens == 30
        assert completion.cost_usd == pytest.approx(7 * 0.001 + 30 * 0.01)


def test_thoughts_alone_come_back_from_the_store(server: Server, tmp_path: Path) -> None:
    server.plan_replies(make_message(content=f"<think>{THOUGHT}"))
    client = make_client(server)
    remember(client, Store(tmp_path / "store"))
    prompt = replace(PROMPT, reads_thoughts=True)
    first = client.complete(prompt)
    assert client.complete(prompt) == first
    assert (first.text, first.reasoning) == ("", THOUGHT)
    assert len(server.requests) == 1


@every_option
def test_the_limit_of_the_stage_is_named(server: Server) -> None:
    server.plan_replies(make_message("length", content=None, reasoning_content=THOUGHT))
    prompt = Prompt("rewrite", PROMPT.messages, sampling={"max_tokens": 150})
    with pytest.raises(LLMError, match=r"this stage has max_tokens=150 of its own"):
        make_client(server).complete(prompt)


@every_option
@pytest.mark.parametrize("reason", ["length", "tool_calls"])
def test_an_empty_reply_that_would_stay_empty_is_not_asked_for_again(
    server: Server, reason: str
) -> None:
    server.plan_replies(make_reply(None, reason))
    with pytest.raises(LLMError):
        ask(server)
    assert len(server.requests) == 1


CALL = {"id": "x", "type": "function", "function": {"name": "search", "arguments": "{}"}}


@every_option
def test_a_call_that_nobody_asked_for_is_no_text(server: Server) -> None:
    server.plan_replies(make_message("tool_calls", content=None, tool_calls=[CALL]))
    with pytest.raises(LLMError, match="It called a tool, and convrag offers it none"):
        ask(server)
    assert len(server.requests) == 1


@every_option
def test_a_call_that_was_asked_for_is_the_reply(server: Server) -> None:
    content = f"<think>{THOUGHT}</think>I search."
    server.plan_replies(make_message("tool_calls", content=content, tool_calls=[CALL]))
    prompt = Prompt("agent", PROMPT.messages, sampling={"tools": [{"type": "function"}]})
    completion = make_client(server).complete(prompt)
    assert completion.text == '[{"name": "search", "arguments": "{}"}]'
    assert completion.reasoning == THOUGHT


@every_option
@pytest.mark.parametrize(
    ("body", "tries"),
    [
        ({"choices": [], "error": {"message": "no such adapter"}}, 1),
        ({"choices": [{"error": {"message": "moderated", "code": 403}}]}, 1),
        ({"choices": [], "error": {"message": "overloaded", "type": "server_error"}}, 2),
    ],
)
def test_an_error_inside_an_empty_reply_is_repeated_where_it_may_pass(
    server: Server, body: dict[str, Any], tries: int
) -> None:
    server.plan_replies(Step(body=body))
    with pytest.raises(LLMError, match="no such adapter|moderated|overloaded"):
        ask(server, retries=1)
    assert len(server.requests) == tries


def test_a_refusal_is_what_the_model_says() -> None:
    reader = ReplyReader("m")
    message = {"content": None, "refusal": "I cannot help with that."}
    reader.read_whole({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert reader.make_reply(None).text == "I cannot help with that."


@every_option
def test_those_who_wait_hear_why(server: Server) -> None:
    from llm_server import make_error

    server.plan_replies(make_error(503, "still loading"), make_reply())
    notices: list[str] = []
    with notify_with(lambda notice, _: notices.append(notice)):
        assert ask(server).text == "A dog."
    waiting, asking = notices
    assert waiting.startswith("openai/local is asked again in ")
    assert "(status 503: " in waiting
    assert waiting.endswith("still loading)")
    assert asking == "openai/local is asked again"


def test_a_recording_keeps_thoughts_apart() -> None:
    row = format_reply(PROMPT, Completion("A dog.", reasoning=THOUGHT, reasoning_tokens=7))
    assert THOUGHT in row
    assert "reasoning" not in format_reply(PROMPT, Completion("A dog."))
    assert asdict(Completion("A dog."))["reasoning"] == ""


@pytest.mark.parametrize("option", ["openai_compatible"], indirect=True)
def test_a_turn_keeps_thoughts_in_its_trace_and_nowhere_else(
    server: Server, tmp_path: Path
) -> None:
    server.plan_replies(make_message(content=f"<think>{THOUGHT}</think>It is far [1]."))
    chat = ["task=chat", "task.suggestions=2", "rewriter=none", "generator=direct", "tracker=none"]
    llm = ["llm=openai_compatible", f"llm.api_base={server.address}", "llm.model=m"]
    typed = "How far is the Moon?\n/thoughts\n/history\nHow old?\n"
    done = run_task([*chat, *llm], tmp_path, stdin=typed)
    assert done.returncode == 0, done.stderr
    before, _, after = done.stdout.partition("generator:")
    assert "Thought for" in before
    assert THOUGHT not in before
    assert after.count(THOUGHT) == 1
    assert all(THOUGHT not in str(request) for request in server.requests)
