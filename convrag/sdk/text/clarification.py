"""Questions back to the user: what a question leaves open, the choices that passages offer, and
what a reply means.
"""

import json
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Literal

from convrag.api.conversations import Question, Turn
from convrag.api.passages import Passage
from convrag.sdk.data.transcript import name_passage
from convrag.sdk.output.printable import format_line
from convrag.sdk.search.frequencies import find_source
from convrag.sdk.text.analysis import ANAPHORS, find_stems, find_words, is_stop_word, read_lists

MOST_CHOICES = 4
"""That a question offers."""

_TOKEN = re.compile(r"[\w-]+(?:['’]s)?|[^\w\s]")
_WORDS = read_lists(Path(__file__).with_suffix(".txt"))
_PLURAL = re.compile(r"(?<![isu])s$")


def refers_back(question: str) -> bool:
    """Whether a question has a word that stands for something said before it: "it", "there"."""
    return any(word.text.lower().replace("’", "'") in ANAPHORS for word in find_words(question))


def find_open_reference(question: str, known: Set[str]) -> str:
    """Find what a question refers to without a name, "this hurricane" or "the actor's", where
    nothing before names it.

    These are English rules: a definite article or a demonstrative pronoun, and a noun that nothing
    behind it specifies. A plural behind "the" belongs to what was said ("the symptoms"), and a
    phrase in capitals is a name.

    Args:
        question: as it was asked.
        known: the stems of the conversation before it.

    Returns:
        The noun: "hurricane"; empty where there is none.
    """
    words = _TOKEN.findall(question)
    lower = [word.lower() for word in words]
    for place, article in enumerate(lower):
        before = lower[max(place - 2, 0) : place]
        joins = (
            before
            and before[-1].isalnum()
            and before[-1] not in _WORDS["before a pronoun that refers"]
        )
        if article == "the" or (article in ("this", "that", "these", "those") and not joins):
            noun = _read_noun(words[place + 1 : place + 6], article, before)
            if noun and not find_stems(noun) & known:
                return noun
    return ""


def _read_noun(words: Sequence[str], article: str, before: Sequence[str]) -> str:
    """The noun behind an article, with its adjectives; empty where something specifies it, or it is
    a name.
    """
    noun: list[str] = []
    owns = False
    for word in words[:4]:
        if owns or not word[0].isalpha() or is_stop_word(word):
            break
        owns = word[-2:] in ("'s", "’s")
        noun.append(word[:-2] if owns else word)
    behind = words[len(noun)].lower() if len(noun) < len(words) else ""
    the, asked = article == "the", bool(before) and before[-1] in _WORDS["auxiliaries"] and not owns
    specified = not owns and behind in _WORDS["behind a noun that is specified"]
    if asked and (
        before[0] in ("what", "who")
        if the
        else len(noun) == 1 and (specified or not behind.isalnum())
    ):
        # "what is the moon?" asks for a definition; "is that safe?", "does this exist in ..."
        return ""
    if asked and len(noun) > 1:
        noun.pop()  # its verb: "did the chain establish", "was the product launched"
    while len(noun) > 1 and noun[-1].endswith(("ed", "ly")):
        noun.pop()
    named = any(not word.islower() for word in (noun if the else noun[1:]))
    if (
        not noun
        or named
        or _WORDS["unique"] & set(noun)
        or any(word.endswith("est") for word in noun)
    ):
        return ""
    if the and (specified or (not owns and _PLURAL.search(noun[-1]))):
        return ""
    return " ".join(noun)


def list_choices(passages: Iterable[Passage], noun: str = "") -> list[str]:
    """List the documents that speak of something, in their order, or the titles in one document; at
    most four.

    Args:
        passages: the best first.
        noun: whose last word a passage must have.
    """
    stems = find_stems(noun.rpartition(" ")[2])
    speaking = [each for each in passages if stems <= find_stems(each.content)]
    several = len(set(map(find_source, speaking))) > 1
    first: dict[str, Passage] = {}
    for each in speaking:
        first.setdefault(find_source(each) if several else each.title, each)
    titles = [each.title for each in first.values()]
    names = (
        each.title if each.title and titles.count(each.title) == 1 else name_passage(each)
        for each in first.values()
    )
    return list(dict.fromkeys(map(format_line, names)))[:MOST_CHOICES]


_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1, "former": 0, "latter": -1}
_LEAD = re.compile(rf"^\W*(?:(?:{'|'.join(_WORDS['leads of a reply'])})\b[\s,.:]*)+", re.IGNORECASE)
_LONGEST_REPLY = 6  # content words of a reply that is no question of its own
_NUMBERED = re.compile(r"^(?:\d{1,2}[.)]|[-*•]) +(\S.*)$")


def read_choices(answer: str) -> list[str] | None:
    """Read the choices of a question back; None where an answer is none.

    It is a question alone, in one sentence, or with a list of choices below.
    """
    question, *others = [line.strip() for line in answer.splitlines() if line.strip()] or [""]
    choices = [match[1] for line in others if (match := _NUMBERED.match(line))]
    asks = question.endswith("?") and len(choices) == len(others) and "[" not in question
    return choices if asks and (choices or not re.search(r"[.!?]\s", question)) else None


def read_reply(reply: str, choices: Sequence[str]) -> str | None:
    """Read what a reply to a question back says: a choice, or words of its own; None where it asks
    something else.

    "2", "the second one", "yes" (to one choice, or all), "no" (none, an empty text), words of a
    choice, or a few words.
    """
    reply = reply.strip().replace("’", "'")
    plain = reply.lower()
    if exact := [choice for choice in choices if choice.lower() == plain]:
        return exact[0]
    words = re.findall(r"[\w']+", plain)
    places = [
        int(word) - 1 if word.isdecimal() and len(word) < 3 else _PLACES.get(word) for word in words
    ]
    chosen = [choices[n] for n in places if n is not None and -1 <= n < len(choices) and choices]
    if chosen and len(chosen) == sum(word not in _WORDS["beside a place"] for word in words):
        return ", ".join(chosen)
    if not words or plain.strip(" .#").isdecimal():
        return None
    if set(words) <= _WORDS["no"]:
        return ""
    if set(words) & _WORDS["yes"] and set(words) <= _WORDS["yes"] | _WORDS["beside a place"]:
        return ", ".join(choices)
    stems, rest = find_stems(reply), _LEAD.sub("", reply).strip()
    named = {choice: len(stems & find_stems(choice)) for choice in choices}
    best = [choice for choice, number in named.items() if number and number == max(named.values())]
    own = stems - find_stems(" ".join(choices))
    opening = re.findall(r"\w+", rest.lower())[:1]
    if (
        "?" in reply
        or _WORDS["beginnings of questions"] & set(opening)
        or len(own) > _LONGEST_REPLY
    ):
        return None
    if len(best) == 1:
        return f"{best[0]}; {rest}" if own else best[0]
    return rest.rstrip(" .!")


COURTESIES = ("You're welcome.", "Hello! What would you like to know?")
"""What is said to thanks, and to a greeting."""


def is_courtesy(utterance: str) -> bool:
    """Whether an utterance has no words but those of greetings and thanks."""
    words = set(re.findall(r"[\w']+", utterance.lower().replace("’", "'")))
    return (
        bool(words & _WORDS["courtesies"])
        and words <= _WORDS["courtesies"] | _WORDS["beside courtesies"]
    )


def speaks_of_answer(utterance: str) -> Literal["", "length", "form"]:
    """Tell whether an English utterance speaks of nothing but an answer's length ("Make it
    shorter"), or its form.
    """
    words = set(re.findall(r"[\w']+", utterance.lower()))
    length, form = _WORDS["about the length of an answer"], _WORDS["about the form of an answer"]
    if not words <= length | form | _WORDS["beside the form of an answer"]:
        return ""
    return "form" if words & form else "length" if words & length else ""


def understand(question: Question) -> Question:
    """Read a question and its history as what searches needs them.

    A question that we asked back and its reply become one turn: the user's question, with what the
    reply says behind it, "Is the road closed? (Route 9)". The answer of a turn that was refused is
    empty, lest its words be searched for; our replies to thanks and greetings are left out.
    """
    turns: list[Turn] = []
    for turn in (*question.history, Turn(question.turn_id, question.text)):
        choices = read_choices(turns[-1].answer) if turns else None
        meant = None if choices is None else read_reply(turn.question, choices)
        if meant is not None:
            asked = turns.pop().question.strip()
            turn = replace(turn, question=f"{asked} ({meant})" if meant else asked)
        turns.append(turn)
    said = [turn for turn in turns[:-1] if turn.answer not in COURTESIES]
    history = tuple(
        replace(turn, answer="") if _gives_nothing(turn.answer) else turn for turn in said
    )
    return replace(question, text=turns[-1].question, history=history)


REFUSAL: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("refusals.json").read_text(encoding="utf-8")
)
"""Language -> how it says that nothing was found, what was looked for, what is nearest, and what
else is near.
"""

REFUSALS = (
    *(said[0].partition("{")[0] for said in REFUSAL.values()),
    "The passages do not answer this question.",
)
"""The beginnings of the answers of first-party stages that found nothing."""


def _gives_nothing(answer: str) -> bool:
    return answer.startswith(REFUSALS) or read_choices(answer) is not None


def format_question(question: str, choices: Sequence[str]) -> str:
    """Format a question back: the choices stand below it as a numbered list."""
    return "\n".join(
        [
            question,
            *([""] if choices else []),
            *(f"{n}. {each}" for n, each in enumerate(choices, 1)),
        ]
    )
