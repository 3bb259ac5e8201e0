"""A model's decision in its reply: asked for, read, checked, and kept from listeners."""

from dataclasses import replace

from convrag.api.completions import Completion, Message, Prompt
from convrag.api.conversations import Question
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Passage
from convrag.concurrency.streaming import current_listener
from convrag.sdk.llm.streaming import listen_with
from convrag.sdk.llm.verdicts import add_form, ask_model
from convrag.sdk.text.answerability import Decider, Decision
from toys import Says

PASSAGES = [Passage("a", "The storm came.", "Katrina"), Passage("b", "The storm went.", "Gloria")]
EVIDENCE = Evidence(tuple(EvidenceItem(n, each, each.text) for n, each in enumerate(PASSAGES, 1)))
PROMPT = Prompt("answer", (Message("system", "Answer."), Message("user", "Which storm?")))


class Streams(Says):
    streams = True

    def complete(self, prompt: Prompt) -> Completion:
        completion = super().complete(prompt)
        for sign in completion.text:
            listener = current_listener()
            assert listener
            listener(sign)
        return completion


def ask(*replies: str, confidence: float = 0.9) -> tuple[Decision, str]:
    """The reply, and what was heard of it."""
    heard: list[str] = []
    decision = Decision(
        "answered", {"confidence": confidence}, 0.45, refusal="I could not find this in the files."
    )
    with listen_with(heard.append):
        replied, _ = ask_model(Streams(*replies), PROMPT, replace(decision, form="ask"), PASSAGES)
    return replied, "".join(heard)


def test_a_verdict_is_read_and_not_heard() -> None:
    for reply, outcome, text in (
        ("[ANSWERED]\nIt came [1].", "answered", "It came [1]."),
        ("**[PARTIAL]**\nIt came [1].", "partial", "It came [1]."),
        ("[UNANSWERABLE]\nThey do not say.", "unanswerable", "They do not say."),
        ("[1] says so.", "answered", "[1] says so."),
        (
            "[ASK]\nWhich storm?\n1. Katrina\n2. Gloria",
            "asked",
            "Which storm?\n\n1. Katrina\n2. Gloria",
        ),
    ):
        replied, heard = ask(reply)
        assert (replied.outcome, replied.reply, replied.fallback, heard.strip()) == (
            outcome,
            text,
            "",
            text,
        )


def test_choices_that_no_passage_has_are_left_out() -> None:
    some, _ = ask("[ASK]\nWhich storm?\n- Katrina\n- Wilma")
    assert some.choices == ("Katrina",)
    assert some.fallback == "no passage has what the model offers to choose from: Wilma"
    none, _ = ask("[ASK]\nWhich storm?\n- Wilma")
    assert none.reply == "Which storm?\n\n1. Katrina\n2. Gloria"


def test_a_reply_without_text_is_asked_for_again_and_the_turn_is_answered() -> None:
    second, heard = ask("[ANSWERED]\n", "It came [1].")
    assert (second.reply, heard) == ("It came [1].", "It came [1].")
    assert second.fallback == "the model gave no text, and was asked again"
    none, _ = ask("", "")
    assert (none.reply, none.outcome) == ("I could not find this in the files.", "unanswerable")


def test_disagreement_with_the_signals_is_noted() -> None:
    assert ask("[ANSWERED]\nSo.", confidence=0.2)[0].trace()["disagrees"] is True
    assert ask("[UNANSWERABLE]\nNo.", confidence=0.2)[0].trace()["disagrees"] is False
    assert "disagrees" not in ask("So.")[0].trace()


def test_the_form_is_part_of_the_prompt_where_the_model_decides() -> None:
    for refuse, ask_, words in (
        (0.5, "auto", {"[ASK]", "[PARTIAL]"}),
        (0.5, "never", {"[PARTIAL]"}),
        (0.0, "never", set()),
    ):
        decision = Decider(Says(), None, None, refuse, ask_, in_reply=True).decide(
            Question("Which storm?"), EVIDENCE
        )
        prompt = add_form(PROMPT, decision).messages[0].content
        assert {word for word in ("[ASK]", "[PARTIAL]") if word in prompt} == words
