"""Questions that a sentence answers, by its form: subject, a verb that can be asked with, and the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from convrag_offline.question_words import (
    ARTICLES,
    BE,
    BREAKS,
    COUNTED,
    DETERMINERS,
    MEANS,
    MODALS,
    NUMBER_START,
    PARTICIPLE,
    PLACE,
    PLURAL_VERBS,
    PREPOSITIONS,
    PRONOUNS,
    REASON,
    TIME,
    TIMED,
    VERBS,
)

LONGEST_SUBJECT = 7
"""Words of a subject, at most."""

_KEPT = 4  # words between a participle and what is asked for, which the question keeps
_EDGE = re.compile(r"[^\w%€$£)]+$")
_ASKED = ((REASON, "Why"), (TIME, "When"), (MEANS, "How"), (PLACE, "Where"))
_VERB_WORDS = BE | MODALS | VERBS.keys()


class ParsedSentence(NamedTuple):
    """A sentence in its parts; `subject` is as it would stand within a question."""

    text: str
    subject: str
    verb: str
    rest: str

    @property
    def has_pronoun(self) -> bool:
        """Whether the subject is a pronoun."""
        return self.subject.lower() in PRONOUNS


def parse_sentence(text: str, passage: str) -> ParsedSentence | None:
    """The parts of a sentence; None where it is not built in a way that can be asked about.

    Args:
        text: the sentence.
        passage: where it stands: shows which words are names.
    """
    words = text.split()
    if words[0].lower() in PREPOSITIONS:
        return None
    for index, word in enumerate(words[: LONGEST_SUBJECT + 1]):
        if index and word in _VERB_WORDS and index + 1 < len(words):
            rest = _EDGE.sub("", " ".join(words[index + 1 :]))
            return ParsedSentence(text, _lower_first(words[:index], word, passage), word, rest) if rest else None
        if (
            word.lower() in BREAKS
            or (index and word in PRONOUNS)
            or not word[-1].isalnum()
            or not (index or word[0].isalpha())
        ):
            return None
    return None


def ask(parsed: ParsedSentence) -> Iterator[str]:
    """Questions that a sentence answers, with "{}" in the place of the subject; the best first."""
    rest = parsed.rest.replace("{", "(").replace("}", ")")
    words = rest.split()
    if parsed.verb in BE:
        yield from _ask_with_be(parsed.verb, rest, words)
    elif parsed.verb in MODALS:
        yield from _ask_with_modal("can" if parsed.verb == "cannot" else parsed.verb, rest, words)
    else:
        yield from _ask_with_verb(*VERBS[parsed.verb], rest, words)


def _lower_first(subject: Sequence[str], verb: str, passage: str) -> str:
    """A subject without the capital letter of its sentence, unless that belongs to a name."""
    first, *others = subject
    common = first.lower() in ARTICLES | DETERMINERS | PRONOUNS
    is_name = bool(re.search(rf"[a-z,;] {re.escape(first)}\b", passage)) or not first[1:].islower()
    before_name = bool(others) and others[0][0].isupper()
    plural = first.endswith("s") and (verb in PLURAL_VERBS | MODALS or VERBS.get(verb, ("", ""))[0] == "do")
    alone = not others and not plural and not re.search(rf"\b{re.escape(first.lower())}\b", passage)
    keeps = not common and (is_name or before_name or alone)
    return " ".join([first if keeps else first.lower(), *others])


def _ask_with_be(verb: str, rest: str, words: Sequence[str]) -> Iterator[str]:
    if counted := COUNTED.match(rest):
        yield f"How many {counted['unit']} {verb} {{}}?"
    elif words[0] in ARTICLES or NUMBER_START.match(rest) or words[0] in ("about", "around", "approximately"):
        yield f"What {verb} {{}}?"
    elif PARTICIPLE.match(words[0]):
        yield from _ask_with_participle(f"{verb} {{}}", words)
    elif PLACE.match(rest) or words[0] in ("in", "on", "at", "by", "near", "beside"):
        yield f"Where {verb} {{}}?"


def _ask_with_modal(modal: str, rest: str, words: Sequence[str]) -> Iterator[str]:
    if words[0] == "be" and len(words) > 1 and PARTICIPLE.match(words[1]):
        yield from _ask_with_participle(f"{modal} {{}} be", words[1:])
    elif len(words) > 1 and words[0].isalpha() and words[0] not in ("be", "not", "also", "only", "never"):
        if counted := COUNTED.match(" ".join(words[1:])):
            yield f"How many {counted['unit']} {modal} {{}} {words[0]}?"
        elif words[1] in ARTICLES | DETERMINERS:
            yield f"What {modal} {{}} {words[0]}?"


def _ask_with_participle(stem: str, words: Sequence[str]) -> Iterator[str]:
    """Questions about what is done: "When was {} placed in orbit?"; `stem` stands before the participle."""
    rest = " ".join(words)
    for pattern, asked in _ASKED:
        if found := pattern.search(rest):
            before = rest[: found.start()].partition(" by ")[0].split()
            keeps = 0 < len(before) <= _KEPT and before[-1][-1].isalnum()
            yield f"{asked} {stem} {' '.join(before) if keeps else words[0]}?"
    after_preposition = len(words) > 2 and (words[2] in ARTICLES | DETERMINERS or words[2][0].isupper())
    if len(words) > 2 and words[1] == "for" and NUMBER_START.match(words[2]):
        yield f"How long {stem} {words[0]}?"
    elif len(words) > 2 and (
        words[1] in ("of", "from", "for", "with", "as") or (words[1] == "to" and after_preposition)
    ):
        yield f"What {stem} {words[0]} {words[1]}?"
    elif len(words) > 2 and words[1] == "by" and not words[2].endswith("ing"):
        yield f"Who {stem} {words[0]} by?"


def _ask_with_verb(auxiliary: str, base: str, rest: str, words: Sequence[str]) -> Iterator[str]:
    if base == "cost":
        yield f"How much {auxiliary} {{}} cost?"
    elif counted := COUNTED.match(rest):
        how = "How long" if base in ("take", "last") else f"How many {counted['unit']}"
        yield f"{how} {auxiliary} {{}} {base}?"
    elif base in TIMED:
        if TIME.search(rest):
            yield f"When {auxiliary} {{}} {base}?"
    elif words[0] in ARTICLES | DETERMINERS or words[0][0].isupper():
        yield f"What {auxiliary} {{}} {base}?"
