"""Options that were listed: "the second one", "both", "the latter", "option b", "which one"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from convrag.sdk.stemming import stem_words
from convrag_resolve.conversation import SaidSoFar
from convrag_resolve.links import Link, join_names
from convrag_resolve.reading import Reading

_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
ORDINALS = {word: place for place, word in enumerate(_WORDS)}
_CARDINALS = {"two": 2, "three": 3, "four": 4, "five": 5}
_NOUN = (
    r"(?:one|option|item|choice|suggestion|alternative|point|method|way|approach|step|type|kind|reason|idea|example|thing"
    r"|recommendation|possibility|entry)"
)
# What follows an ordinal that stands alone: the end, a mark, or a word that is no noun.
_FOLLOWING = (
    r"is|are|was|were|does|do|did|can|could|will|would|has|have|in|for|on|at|with|of (?:these|them|those)|and|or|than"
    r"|cost|work|instead|better|really|please|from|to|then|too|more"
)
_ALONE = rf"(?=\s*(?:$|[?.!,;)]|(?:{_FOLLOWING})\b))"
_ORDINAL = re.compile(
    rf"\b(?:the|that|this|your|number)\s+({'|'.join(_WORDS)}|1st|2nd|3rd|\dth|last|final|former|latter|other)"
    rf"(?:\s+{_NOUN}\b(?!\s+of\s+(?!them|these|those))|{_ALONE}|\s+(\w+)\b(?!\s+of\b))",
    re.IGNORECASE,
)
_FIRST_FEW = re.compile(
    rf"\b(?:the\s+)?(first|last)\s+({'|'.join(_CARDINALS)})"
    rf"(?:\s+(?:ones|options|items|of (?:them|these|those)))?{_ALONE}",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"\b(?:the\s+)?(?:option|choice|number|item|no\.|#)\s*\(?([a-h]|\d{1,2})\)?(?=\W|$)", re.IGNORECASE
)
_ALL = re.compile(
    r"\b(?:they both|them both"
    r"|(both|neither|either|each|all|any|none)(?:\s+of\s+(?:them|these|those)|\s+options)"
    r"|both(?=\s*(?:$|[?.!,]))|(?<=are )both|(?<=do )both|(?<=can )both|these\s+(?:two|three|options))\b",
    re.IGNORECASE,
)
_WHICH = re.compile(
    r"\b(which|what)\s+ones?\b"
    r"|^\s*(which)(?=\s+(?:is|are|was|were|would|should|do|does|can|has|costs?)\b)",
    re.IGNORECASE,
)
_MOST = 6


def find_ordinals(reading: Reading, said: SaidSoFar) -> Iterator[Link]:
    """Link the options that a question picks to those that were listed last."""
    text, options = reading.text, said.options
    for match in _FIRST_FEW.finditer(text):
        count = _CARDINALS[match[2].lower()]
        if count < len(options):
            picked = options[:count] if match[1].lower() == "first" else options[-count:]
            yield _make(match, said, join_names(picked), f"{match[1].lower()} {count} of {len(options)} options")
    for match in _ORDINAL.finditer(text):
        is_pair = len(options) == 2 and not said.options_offered
        if match[2] and not (said.options_offered and set(stem_words([match[2].lower()])) & said.options_kinds):
            continue  # "the second season"
        if is_pair and match[1].lower() not in ("former", "latter", "other"):
            continue  # "A and B" in passing is no list with a second one
        if (place := _find_place(match[1].lower(), options, reading)) is not None:
            rule = f"option {place % len(options) + 1} of {len(options)}"
            yield _make(match, said, options[place], rule)
    for match in _NUMBERED.finditer(text):
        place = int(match[1]) - 1 if match[1].isdigit() else "abcdefgh".index(match[1].lower())
        if 0 <= place < len(options):
            yield _make(match, said, options[place], f"option {place + 1} of {len(options)}")
    if 2 <= len(options) <= _MOST:
        yield from _find_all(reading, said)


def _find_place(word: str, options: Sequence[str], reading: Reading) -> int | None:
    """The place of the option that an ordinal picks; None where there is none."""
    if len(options) < 2:
        return None
    if word in ("last", "final"):
        return len(options) - 1
    if word in ("former", "latter"):
        return 0 if word == "former" else len(options) - 1
    if word == "other":
        named = [place for place, option in enumerate(options) if option.lower() in reading.text.lower()]
        return 1 - named[0] if len(options) == 2 and len(named) == 1 else None
    place = ORDINALS.get(word, int(word[0]) - 1 if word[0].isdigit() else -1)
    return place if 0 <= place < len(options) else None


def _find_all(reading: Reading, said: SaidSoFar) -> Iterator[Link]:
    """Link "both of them" and "which one" to all options."""
    if said.options_number != len(said.turns) - 1:
        return
    for match in _ALL.finditer(reading.text):
        word = (match[1] or match[0].split()[0]).lower().replace("they", "both").replace("them", "both")
        if word == "both" and len(said.options) != 2:
            continue
        names = join_names(said.options, "or" if word in ("either", "neither", "any", "none") else "and")
        written = names if word in ("both", "all", "these") else f"{match[1].lower()} of {names}"
        yield _make(match, said, names, f"all {len(said.options)} options", written)
    for match in _WHICH.finditer(reading.text) if said.options_offered else ():
        if match[2] and any(not _is_comparative(mention.text) for _, mention in reading.list_mentions()):
            continue  # "which is the largest river?"
        names = join_names(said.options)
        yield _make(match, said, names, f"all {len(said.options)} options", f"which of {names}")


def _is_comparative(text: str) -> bool:
    """Whether a phrase only compares: "the cheapest", "cheaper"."""
    return text.lower().split()[-1].endswith(("er", "est"))


def _make(match: re.Match[str], said: SaidSoFar, name: str, rule: str, written: str | None = None) -> Link:
    return Link("option", match[0].strip(), name, said.options_turn, rule, match.start(), match.end(), written or name)
