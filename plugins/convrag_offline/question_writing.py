"""Task "question" without a language model: questions made of the sentences of a passage, by rules for English.

A sentence is read as a subject, a verb that can be asked with (is, was, can, must, has, costs, ...) and the rest. "The
daily allowance is 40 euros" gives "What is the daily allowance?"; "Requests must be submitted within ten days" gives
"When must requests be submitted?". A follow-up puts a pronoun in the place of a subject that the conversation knows
("When must they be submitted?"), or asks by ellipsis ("What about the daily allowance?"). The answer is the sentence.
Such questions keep the words of the passage: they are easier to find passages for than those of people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from convrag.sdk.sentences import split_sentences
from convrag_offline.document_frequencies import DocumentFrequencies
from convrag_offline.rewriting import Exchange
from convrag_offline.tokens import stem_content_words

_LONGEST, _SHORTEST = 40, 5  # words of a sentence
_SUBJECT = 7  # words of a subject, at most

_BE = "is are was were"
_MODALS = "can may must should will shall cannot"
_VERBS = {  # as it stands -> how it is asked with
    **{verb: ("does", base) for verb, base in (
        ("has", "have"), ("costs", "cost"), ("takes", "take"), ("lasts", "last"), ("contains", "contain"),
        ("provides", "provide"), ("requires", "require"), ("needs", "need"), ("offers", "offer"), ("uses", "use"),
        ("covers", "cover"), ("receives", "receive"), ("gets", "get"), ("pays", "pay"), ("begins", "begin"),
        ("starts", "start"), ("ends", "end"), ("weighs", "weigh"), ("supports", "support"), ("means", "mean"),
        ("produces", "produce"), ("holds", "hold"), ("earns", "earn"), ("opens", "open"), ("closes", "close"),
    )},
    **{verb: ("do", verb) for verb in ["have", "cost", "take", "last", "contain", "provide", "require", "need", "offer", "use", "cover", "receive", "get", "pay", "begin", "start", "end", "weigh", "support", "mean", "produce", "hold", "earn", "open", "close"]},
    **{verb: ("did", base) for verb, base in (
        ("had", "have"), ("took", "take"), ("lasted", "last"), ("contained", "contain"), ("provided", "provide"),
        ("required", "require"), ("used", "use"), ("received", "receive"), ("won", "win"), ("began", "begin"),
        ("started", "start"), ("ended", "end"), ("produced", "produce"), ("held", "hold"), ("became", "become"),
        ("opened", "open"), ("closed", "close"), ("flew", "fly"), ("died", "die"), ("arrived", "arrive"),
    )},
}  # fmt: skip
_TIMED = frozenset(["begin", "start", "end", "open", "close", "fly", "die", "arrive"])
_NUMBERS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "twenty",
    "thirty",
    "hundred",
]
_NUMBER = rf"(?:\d[\d,.]*|{'|'.join(_NUMBERS)})"
_COUNTED = re.compile(
    rf"^(?:(?:about|around|approximately|nearly|almost|at least|at most|up to|over|some|only|a total of) )*{_NUMBER}"
    r" (?P<unit>[a-z]+s)\b"
)
_TIME = re.compile(
    rf"\b(?:within|before|after|until|by|since|every|from|on|in|at) (?:the )?(?:[a-z]+ of )?"
    rf"(?:{_NUMBER}|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july"
    r"|august|september|october|november|december|spring|summer|autumn|winter|day|week|month|year)s?\b",
    re.IGNORECASE,
)
_MEANS = re.compile(r"\b(?:through|via|using|by (?:means of|[a-z]+ing|e-?mail|post|phone|telephone))\b")
_PLACE = re.compile(r"\b(?:in|at|near|to) (?:the )?[A-Z][a-z]")
_REASON = re.compile(r"\b(?:because|so that|in order to|due to)\b")
_PARTICIPLE = re.compile(
    r"^(?:\w+ed|built|held|made|founded|written|sent|paid|given|taken|known|born|sold|kept|found|shown|drawn|set|won)$"
)
_ARTICLE = frozenset(["a", "an", "the", "one"])
_BREAKS = frozenset(  # a subject with one of these is a clause, or something else that cannot be asked about
    [
        "that",
        "which",
        "who",
        "whom",
        "whose",
        "if",
        "when",
        "while",
        "because",
        "as",
        "than",
        "although",
        "though",
        "where",
        "whether",
        "and",
        "or",
        "but",
        "not",
        "there",
        "then",
        "said",
        "says",
        "thus",
        "however",
        "here",
        "so",
        "also",
        "this",
        "these",
        "those",
        "what",
        "how",
        "why",
    ]
)
_PRONOUNS = {"it": "it", "they": "they", "he": "he", "she": "she"}
_PLURAL_VERBS = frozenset(["are", "were", "have", "do"])
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_EDGE = re.compile(r"[^\w%€$£)]+$")


class _Sentence(NamedTuple):
    """A sentence in its parts; `subject` is as it would stand within a question."""

    text: str
    subject: str
    verb: str
    rest: str


class _Candidate(NamedTuple):
    """A question that may be asked; the lowest `rank` is best."""

    rank: int
    question: str
    standalone: str
    sentence: str


def write_question(
    kind: str,
    title: str,
    passage: str,
    history: Sequence[Exchange],
    refused: Sequence[Mapping[str, str]],
    frequencies: DocumentFrequencies,
) -> str:
    """JSON with a question, its answer, the sentence of the passage that it rests on, and the standalone question.

    Args:
        kind: opening, follow_up or topic_shift.
        title: of the passage; the path of its headings, maybe.
        passage: its text.
        history: the conversation so far, oldest exchange first.
        refused: earlier proposals, each with `question`.
        frequencies: unused; rules need none.
    """
    seen = {_normalise(each["question"]) for each in refused} | {_normalise(each["user"]) for each in history}
    told = {_normalise(each["assistant"]) for each in history}
    found = sorted(_find_candidates(kind, title, passage, history), key=lambda each: each.rank)
    for each in found:
        if _normalise(each.question) not in seen and _normalise(each.sentence) not in told:
            return _format(each.question, each.sentence, each.standalone)
    return _format("", "", "")


def find_prose(passage: str) -> list[str]:
    """The sentences of a passage that say something: no headings, rows of tables, links or fragments."""
    found = []
    for sentence in split_sentences(passage):
        text = _ITEM.sub("", sentence).strip().replace("**", "").replace("__", "")
        enough = _SHORTEST <= len(text.split()) <= _LONGEST
        if enough and text[-1] in ".!" and not set("|#<>{}[]?") & set(text) and "://" not in text:
            found.append(text)
    return found


def _find_candidates(kind: str, title: str, passage: str, history: Sequence[Exchange]) -> Iterator[_Candidate]:
    sentences = find_prose(passage)
    parts = [part.strip() for part in title.split(">") if part.strip()]
    topic = parts[-1] if parts else ""
    known = stem_content_words(" ".join([*(f"{each['user']} {each['assistant']}" for each in history[-2:])]))
    for text in sentences:
        if (parsed := _parse(text, passage)) is None:
            continue
        for rank, question in enumerate(_ask(parsed)):
            yield from _vary(kind, rank, question, parsed, topic, known)
        if kind == "follow_up" and parsed.subject.lower() not in _PRONOUNS:
            yield _Candidate(
                20, f"What about {parsed.subject}?", f"What about {_in_full(parsed.subject, topic)}?", text
            )
    if sentences and topic and len(topic.split()) <= _SUBJECT and kind != "follow_up":
        above = f" in {parts[-2]}" if len(parts) > 1 else ""
        question = f"What should I know about {topic}{above}?"
        yield _Candidate(30, question, question, sentences[0])


def _vary(kind: str, rank: int, question: str, parsed: _Sentence, topic: str, known: set[str]) -> Iterator[_Candidate]:
    """A question as it is asked at the beginning, or with a pronoun in the place of what the conversation knows.

    Args:
        kind: of the question wanted.
        rank: of the question.
        question: with "{}" in the place of its subject.
        parsed: the sentence that answers it.
        topic: what stands for a subject that is a pronoun.
        known: stems of the conversation.
    """
    is_pronoun = parsed.subject.lower() in _PRONOUNS
    name = topic if is_pronoun else parsed.subject
    if not name or len(name.split()) > _SUBJECT:
        return
    full = question.format(name)
    if kind != "follow_up":
        yield _Candidate(rank + 10 * is_pronoun, full, full, parsed.text)
        return
    stems = stem_content_words(name)
    if stems and len(stems & known) >= len(stems) / 2:
        pronoun = parsed.subject.lower() if is_pronoun else "they" if parsed.verb in _PLURAL_VERBS else "it"
        if is_pronoun or parsed.verb not in _MODALS.split() or not parsed.subject.endswith("s"):
            yield _Candidate(rank, question.format(pronoun), full, parsed.text)
        else:
            yield _Candidate(rank, question.format("they"), full, parsed.text)


def _parse(text: str, passage: str) -> _Sentence | None:
    """The parts of a sentence; None where it is not built in a way that can be asked about."""
    words = text.split()
    verbs = {*_BE.split(), *_MODALS.split(), *_VERBS}
    for index, word in enumerate(words[: _SUBJECT + 1]):
        if index and word in verbs and index + 1 < len(words):
            subject = words[:index]
            plain = [each.lower() for each in subject]
            if any(each in _BREAKS or not each[-1].isalnum() for each in plain):
                return None
            return _Sentence(text, _lower_first(subject, passage), word, _EDGE.sub("", " ".join(words[index + 1 :])))
        if word.lower() in _BREAKS or word[-1] in ",;:":
            return None
    return None


def _lower_first(subject: Sequence[str], passage: str) -> str:
    """A subject without the capital letter of its sentence, unless that belongs to a name."""
    first, *others = subject
    named = first.isupper() or any(word[0].isupper() for word in others[:1])
    common = first.lower() in _ARTICLE | {
        "all",
        "each",
        "every",
        "most",
        "some",
        "your",
        "our",
        "their",
        "its",
        *_PRONOUNS,
    }
    elsewhere = re.search(rf"\b{re.escape(first.lower())}\b", passage) and not named
    plural = first.endswith("s") and not named
    return " ".join([first.lower() if common or elsewhere or plural else first, *others])


def _ask(parsed: _Sentence) -> Iterator[str]:
    """Questions that a sentence answers, with "{}" in the place of the subject; the best first."""
    _, _, verb, rest = parsed
    words = rest.split()
    if verb in _BE.split():
        yield from _ask_with_be(verb, rest, words)
    elif verb in _MODALS.split():
        modal = "can" if verb == "cannot" else verb
        yield from _ask_with_modal(modal, rest, words)
    else:
        yield from _ask_with_verb(*_VERBS[verb], rest)


def _ask_with_be(verb: str, rest: str, words: Sequence[str]) -> Iterator[str]:
    if counted := _COUNTED.match(rest):
        yield f"How many {counted['unit']} {verb} {{}}?"
    elif words[0] in _ARTICLE:
        yield f"What {verb} {{}}?"
    elif _PARTICIPLE.match(words[0]):
        for pattern, asked in ((_REASON, "Why"), (_TIME, "When"), (_MEANS, "How"), (_PLACE, "Where")):
            if pattern.search(rest):
                yield f"{asked} {verb} {{}} {words[0]}?"
        if len(words) > 2 and words[1] in ("by", "of", "from", "for", "with", "to", "as"):
            yield f"{'Who' if words[1] == 'by' else 'What'} {verb} {{}} {words[0]} {words[1]}?"
    elif _NUMBER_START.match(rest) or words[0].lower() in ("about", "around", "approximately"):
        yield f"What {verb} {{}}?"


def _ask_with_modal(modal: str, rest: str, words: Sequence[str]) -> Iterator[str]:
    if words[0] == "be" and len(words) > 1 and _PARTICIPLE.match(words[1]):
        for pattern, asked in ((_REASON, "Why"), (_TIME, "When"), (_MEANS, "How"), (_PLACE, "Where")):
            if pattern.search(rest):
                yield f"{asked} {modal} {{}} be {words[1]}?"
        if len(words) > 3 and words[2] in ("by", "to", "for", "with", "from"):
            yield f"{'Who' if words[2] == 'by' else 'What'} {modal} {{}} be {words[1]} {words[2]}?"
    elif len(words) > 1 and words[0].isalpha() and words[0] not in ("be", "not", "also", "only"):
        after = " ".join(words[1:])
        if counted := _COUNTED.match(after):
            yield f"How many {counted['unit']} {modal} {{}} {words[0]}?"
        elif words[1] in _ARTICLE | {"their", "its", "all", "any"}:
            yield f"What {modal} {{}} {words[0]}?"


def _ask_with_verb(auxiliary: str, base: str, rest: str) -> Iterator[str]:
    if counted := _COUNTED.match(rest):
        how = "How long" if base in ("take", "last") else f"How many {counted['unit']}"
        yield f"{how} {auxiliary} {{}} {base}?"
    elif base == "cost":
        yield f"How much {auxiliary} {{}} cost?"
    elif base in _TIMED:
        if _TIME.search(rest):
            yield f"When {auxiliary} {{}} {base}?"
    elif base not in ("have", "last", "take", "mean") or rest.split()[0] in _ARTICLE:
        yield f"What {auxiliary} {{}} {base}?"


_NUMBER_START = re.compile(rf"^(?:[€$£]\s?)?{_NUMBER}\b")


def _in_full(subject: str, topic: str) -> str:
    """A subject with what it belongs to."""
    return subject if not topic or topic.lower() in subject.lower() else f"{subject} ({topic})"


def _normalise(text: str) -> str:
    return " ".join(text.lower().split())


def _format(question: str, sentence: str, standalone: str) -> str:
    row: dict[str, Any] = {"question": question, "answer": sentence, "quote": sentence, "standalone": standalone}
    return json.dumps(row, ensure_ascii=False)
