"""A few passages, a conversation and a question: enough to try a stage on."""

from __future__ import annotations

from convrag.types import Conversation, Message, Passage, Prompt, Question, Turn

TEXTS = (
    "A kettle whistles because steam is forced through two small openings in its lid.",
    "Green tea is brewed at about eighty degrees; boiling water makes it bitter.",
    "Copper conducts heat better than steel, so a copper kettle boils sooner.",
    "Le thé à la menthe est servi très sucré. 茶は八十度で入れる。",
)


def passages() -> list[Passage]:
    """Four short passages, one of them not in English."""
    return [Passage(f"tea-{number}", text, title="Tea") for number, text in enumerate(TEXTS, 1)]


def conversation() -> Conversation:
    """Three turns about tea, with answers."""
    first, second, third, _ = passages()
    return Conversation(
        "tea",
        (
            Turn("tea<::>1", "Why does a kettle whistle?", first.text, (first,)),
            Turn("tea<::>2", "And how hot should green tea be?", second.text, (second,)),
            Turn("tea<::>3", "Is copper better?", third.text, (third,)),
        ),
    )


def question(text: str = "Is copper better?", turns: int = 2) -> Question:
    """A question after so many turns of the sample conversation."""
    history = conversation().turns[:turns]
    return Question(text, "tea", f"tea<::>{turns + 1}", number=turns + 1, history=history)


def ask(text: str = "What is tea?") -> Prompt:
    """A prompt that answers a question from one passage, in messages and in named inputs."""
    evidence = [{"number": 1, "title": "Tea", "text": TEXTS[1]}]
    inputs = {"question": text, "history": [], "evidence": evidence}
    return Prompt("answer", (Message("user", f"[1] {TEXTS[1]}\n\n{text}"),), inputs)
