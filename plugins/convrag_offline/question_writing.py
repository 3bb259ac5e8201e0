"""Task "question" without a language model: questions made of the sentences of a passage, by rules for English.

"The daily allowance is 40 euros" gives "What is the daily allowance?"; "Requests must be submitted within ten days"
gives "When must requests be submitted?". A follow-up puts a pronoun in the place of what the conversation was about
("When must they be submitted?"), or asks by ellipsis ("What about the daily allowance?"). The answer is the sentence.
Such questions keep the words of the passage: passages are easier to find for them than for those of people.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from convrag.sdk.sentences import split_sentences
from convrag.sdk.words import find_stems
from convrag_offline.document_frequencies import DocumentFrequencies
from convrag_offline.rewriting import History
from convrag_offline.sentence_questions import (
    BREAKS,
    LONGEST_SUBJECT,
    MODALS,
    PLURAL_VERBS,
    POSSESSIVES,
    PRONOUN_PATTERNS,
    ParsedSentence,
    ask,
    parse_sentence,
)

_LONGEST, _SHORTEST = 40, 5  # words of a sentence
_ELLIPSIS, _TITLE = 20, 30  # ranks of questions that say less than others
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_AFTER_HEAD = re.compile(r" (?:of|for|in|on|with|to|from|at) ")  # "requests for leave" are several
_PLAIN = re.compile(r"[^\W_][\w .'’-]*")
_NO_PROSE = frozenset("|#<>{}[]?:")


class _Candidate(NamedTuple):
    """A question that may be asked; the lowest `rank` is best."""

    rank: int
    question: str
    standalone: str
    sentence: str


class _Subject(NamedTuple):
    """What a question is about: its name, what its passage is about (may be empty), and the pronoun for it."""

    name: str
    topic: str
    pronoun: str


def write_question(
    kind: str,
    style: str,
    title: str,
    passage: str,
    history: History,
    refused: Sequence[Mapping[str, str]],
    frequencies: DocumentFrequencies,
) -> str:
    """JSON with a question, its answer, the sentence of the passage that it rests on, and the standalone question.

    Args:
        kind: opening, follow_up or topic_shift.
        style: how the question should begin, where there is a choice: "what", "how many", ...
        title: of the passage; the path of its headings, maybe.
        passage: its text.
        history: the conversation so far, oldest exchange first.
        refused: earlier proposals, each with `question`.
        frequencies: unused; rules need none.
    """
    seen = {_normalise(each["question"]) for each in refused} | {_normalise(each["user"]) for each in history}
    told = {_normalise(each["assistant"]) for each in history}
    found = [
        each
        for each in _find_candidates(kind, title, passage, history)
        if not {_normalise(each.question), _normalise(each.standalone)} & seen and _normalise(each.sentence) not in told
    ]
    best = min(found, key=lambda each: (each.rank, not each.question.lower().startswith(style)), default=None)
    question, standalone, sentence = best[1:] if best else ("", "", "")
    row = {"question": question, "answer": sentence, "quote": sentence, "standalone": standalone}
    return json.dumps(row, ensure_ascii=False)


def find_prose(passage: str) -> list[str]:
    """The sentences of a passage that say something: no headings, rows of tables, links or fragments."""
    found = []
    for sentence in split_sentences(passage):
        text = _ITEM.sub("", sentence).replace("**", "").replace("__", "").strip()
        enough = _SHORTEST <= len(text.split()) <= _LONGEST
        if enough and text[-1] in ".!" and not _NO_PROSE & set(text):
            found.append(text)
    return found


def _find_candidates(kind: str, title: str, passage: str, history: History) -> Iterator[_Candidate]:
    sentences = find_prose(passage)
    parts = [part.strip() for part in title.split(" > ") if part.strip()]
    topic = parts[-1] if parts and _is_topic(parts[-1]) else ""
    known = find_stems(" ".join(f"{each['user']} {each['assistant']}" for each in history[-1:]))
    subject = topic
    for text in sentences:
        if (parsed := parse_sentence(text, passage)) is None:
            subject = ""  # a pronoun in the next sentence may stand for anything
            continue
        name = subject if parsed.has_pronoun else parsed.subject
        if name and len(name.split()) <= LONGEST_SUBJECT and name.split()[0].lower() not in POSSESSIVES:
            pronoun = _choose_pronoun(parsed, name, passage)
            yield from _vary(kind, parsed, _Subject(name, topic, pronoun), known)
        subject = name
    if sentences and topic and len(parts) > 1 and _is_topic(parts[-2]) and kind != "follow_up":
        question = f"What should I know about {topic} in {parts[-2]}?"
        yield _Candidate(_TITLE, question, question, sentences[0])


def _is_topic(heading: str) -> bool:
    """Whether a heading names something, in words: "Opening hours", and not "What is left" or "f(x)"."""
    words = heading.split()
    return bool(_PLAIN.fullmatch(heading)) and len(words) <= LONGEST_SUBJECT and words[0].lower() not in BREAKS


def _vary(kind: str, parsed: ParsedSentence, subject: _Subject, known: frozenset[str]) -> Iterator[_Candidate]:
    """Questions about a sentence as they are asked at the beginning, or as follow-ups.

    Args:
        kind: of the question.
        parsed: the sentence that answers it.
        subject: what it is about.
        known: stems of the last exchange.
    """
    stems = find_stems(subject.name)
    is_known = bool(stems) and stems <= known
    for rank, question in enumerate(ask(parsed)):
        if subject.pronoun in ("he", "she"):
            question = re.sub(r"^What (?=(?:is|was) \{\}\?)", "Who ", question)
        full = question.format(subject.name)
        if kind != "follow_up":
            opening = full if _says_enough(subject.name) else _add_topic(full, subject)
            yield _Candidate(rank + 10 * parsed.has_pronoun, opening, opening, parsed.text)
        elif is_known:
            yield _Candidate(rank, question.format(subject.pronoun), _add_topic(full, subject), parsed.text)
    if kind == "follow_up" and not parsed.has_pronoun and not is_known:
        full = _add_topic(f"What should I know about {subject.name}?", subject)
        yield _Candidate(_ELLIPSIS, f"What about {subject.name}?", full, parsed.text)


def _says_enough(name: str) -> bool:
    """Whether a subject can be understood without its passage: a name can, or two words, but not "the project"."""
    return any(word[0].isupper() for word in name.split()) or len(find_stems(name)) > 1


def _add_topic(question: str, subject: _Subject) -> str:
    """A question with the topic before it, unless its subject names it: "About the Mary Rose: what ..."."""
    if not subject.topic or find_stems(subject.topic) <= find_stems(subject.name):
        return question
    return f"About {subject.topic}: {question[0].lower()}{question[1:]}"


def _choose_pronoun(parsed: ParsedSentence, name: str, passage: str) -> str:
    """The pronoun that stands for the subject of a sentence; for a name, the one that its passage has most often."""
    if parsed.has_pronoun:
        return parsed.subject.lower()
    head = _AFTER_HEAD.split(parsed.subject)[0]
    if parsed.verb in PLURAL_VERBS or (parsed.verb in MODALS and re.search("[^s]s$", head)):
        return "they"
    if not name[0].isupper():
        return "it"
    counts = {pronoun: len(PRONOUN_PATTERNS[pronoun].findall(passage)) for pronoun in ("it", "he", "she")}
    return max(counts, key=lambda pronoun: counts[pronoun])


def _normalise(text: str) -> str:
    return " ".join(text.lower().split())
