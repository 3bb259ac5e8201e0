"""`rewriter=tagged`: the rewrite in tags, whole and streamed, with thoughts in any place."""

from typing import Any

import pytest

from convrag import ConfigError, LLMError, Question, Rewrite, Turn
from convrag.concurrency.streaming import listen_with
from convrag.config.compose import compose
from convrag.testing import RecordedLLM, RewriterContract
from convrag_tagged.rewriter import TaggedRewriter
from llm_client import make_client
from llm_server import DONE, Server, Step, make_event, make_reply
from toys import Says

HISTORY = (Turn("c<::>1", "What is a kettle?", "A vessel for boiling water."),)
ASKED = Question("Is copper better for it?", "c", "c<::>2", number=2, history=HISTORY)
THOUGHT = "It is the kettle; I write <rewrite> next."
REWRITE = "Is copper better than steel for a kettle? Copper conducts heat well."


class TestTagged(RewriterContract):
    def make(self) -> TaggedRewriter:
        return TaggedRewriter(llm=RecordedLLM(replies={"": f"<rewrite>{REWRITE}</rewrite>"}))


def make_step(text: str, *, streamed: bool, finish: str, thoughts: str = "") -> Step:
    """A reply of a server, whole or in pieces of three characters, which cut tags."""
    if not streamed:
        body = make_reply(text or None, finish)
        if thoughts:
            body["choices"][0]["message"]["reasoning_content"] = thoughts
        return Step(body=body)
    deltas: list[dict[str, Any]] = []
    for name, value in (("reasoning_content", thoughts), ("content", text)):
        deltas += [{name: value[at : at + 3]} for at in range(0, len(value), 3)]
    events = [*(make_event(delta) for delta in deltas), make_event({}, finish), DONE]
    return Step(events=tuple(events))


def rewrite(server: Server, step: Step, *, streamed: bool) -> Rewrite:
    server.plan_replies(step)
    stage = TaggedRewriter(llm=make_client(server))
    pieces: list[str] = []
    with listen_with(pieces.append if streamed else None):
        return stage.rewrite(ASKED)


WHOLE = {
    "as trained": f"<think>{THOUGHT}</think>\n<rewrite> {REWRITE}\n</rewrite>",
    "stopped at the closing tag": f"<think>{THOUGHT}</think>\n<rewrite>{REWRITE}",
    "a thought that the prompt began": f"{THOUGHT}</think>\n<rewrite>{REWRITE}</rewrite>",
    "no thought": f"<rewrite>{REWRITE}</rewrite>",
    "an open thought": f"<think>{THOUGHT} <rewrite>{REWRITE}</rewrite>",
    "an open thought, stopped": f"<think>It is the kettle. <rewrite>{REWRITE}",
    "in a thought that ended": f"<think>Hm. <rewrite>{REWRITE}</rewrite></think>\nDone.",
    "large letters": f"<THINK>{THOUGHT}</THINK><Rewrite>{REWRITE}</ReWrite>",
    "two": f"<rewrite>{REWRITE}</rewrite> or <rewrite>Is tea hot?</rewrite>",
}


@pytest.mark.parametrize("option", ["openai_compatible"], indirect=True)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("form", WHOLE)
def test_the_rewrite_is_what_is_between_the_tags(server: Server, form: str, streamed: bool) -> None:
    step = make_step(WHOLE[form], streamed=streamed, finish="stop")
    made = rewrite(server, step, streamed=streamed)
    assert (made.text, made.fallback) == (REWRITE, "")
    assert server.requests[0]["stop"] == ["</rewrite>"]


@pytest.mark.parametrize("option", ["openai_compatible"], indirect=True)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_server_that_sends_thoughts_apart_may_send_the_rewrite_among_them(
    server: Server, streamed: bool
) -> None:
    apart = make_step("", streamed=streamed, finish="stop", thoughts=f"Hm. <rewrite>{REWRITE}")
    assert rewrite(server, apart, streamed=streamed).text == REWRITE
    assert len(server.requests) == 1


@pytest.mark.parametrize("option", ["openai_compatible"], indirect=True)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("<think>It is the kettle.", "stop", "the model thought, and wrote no <rewrite>"),
        ("<think>It is the ke", "length", "cut at max_tokens before its rewrite"),
        ("<think>Hm.</think><rewrite>Is copper bet", "length", "cut at max_tokens before"),
        ("Is copper better for kettles?", "stop", "the reply has no <rewrite>"),
        ("<rewrite> </rewrite>", "stop", "the reply has no <rewrite>"),
    ],
)
def test_without_a_whole_rewrite_the_question_is_searched_for(
    server: Server, text: str, finish: str, reason: str, streamed: bool
) -> None:
    made = rewrite(server, make_step(text, streamed=streamed, finish=finish), streamed=streamed)
    assert made.text == ASKED.text
    assert reason in made.fallback
    assert len(server.requests) == 1


def test_the_prompt_has_the_tags_and_the_conversation() -> None:
    model = Says("[[Is copper better?]]")
    made = TaggedRewriter(llm=model, tags="[[ ... ]]", thoughts="(( ... ))").rewrite(ASKED)
    assert made.text == "Is copper better?"
    prompt = model.prompts[0]
    content = prompt.messages[0].content
    assert "(( thoughts ))\n[[ rewritten question ]]" in content
    assert "Q1: What is a kettle?\nA1: A vessel for boiling water." in content
    assert content.endswith("Query: Is copper better for it?\nRewrite:")
    assert prompt.reads_thoughts


def test_a_first_question_is_rewritten_too_and_a_failure_is_said() -> None:
    model = Says(f"<rewrite>{REWRITE}</rewrite>")
    assert TaggedRewriter(llm=model).rewrite(Question("Is copper better?")).text == REWRITE
    failed = TaggedRewriter(llm=Says(LLMError("no reply"))).rewrite(ASKED)
    assert (failed.text, failed.fallback) == (ASKED.text, "no reply")


@pytest.mark.parametrize("tags", ["<rewrite>", "...", "<a>...<A>", "<a>...<b>...<c>", ""])
def test_tags_that_are_none_are_named(tags: str) -> None:
    with pytest.raises(ConfigError, match=r"rewriter\.tags=.*two different tags"):
        TaggedRewriter(llm=Says(""), tags=tags)


def test_the_published_format_is_a_file() -> None:
    config = compose("rewriter=convsearch_r1")
    chosen = {name: config.rewriter[name] for name in ("tags", "temperature", "max_tokens")}
    assert chosen == {"tags": "<rewrite>...</rewrite>", "temperature": 0.7, "max_tokens": 4096}
