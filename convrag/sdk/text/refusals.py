"""Refusals: what is said, in the language of the question, where the passages do not answer it."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from convrag.api.passages import Passage
from convrag.sdk.data.transcript import name_passage
from convrag.sdk.output.printable import escape_markdown, format_line
from convrag.sdk.text.analysis import UNSPACED, find_content_words, find_stems, tell_language
from convrag.sdk.text.clarification import list_choices


class RefusalTexts(NamedTuple):
    """The parts of a refusal in one language.

    Args:
        nothing: says that nothing was found.
        looked_for: lists the words that were looked for.
        nearest: names the nearest passage, and the words that it has.
        others: names other passages that have some of the words.
    """

    nothing: str
    looked_for: str
    nearest: str
    others: str


TEXTS = {
    language: RefusalTexts(*parts)
    for language, parts in json.loads(
        Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    ).items()
}
"""Language -> its refusal."""

REFUSALS = (
    *(texts.nothing.partition("{")[0] for texts in TEXTS.values()),
    "The passages do not answer this question.",
)
"""The beginnings of the answers of first-party stages that found nothing."""


def write_refusal(
    question: str, passages: Sequence[Passage], nearest: Passage | None, size: str
) -> str:
    """Write a refusal: what was looked for and where, and which passages have some of it.

    Args:
        question: its content words are what was looked for.
        passages: that were found.
        nearest: the one of them that has most of the question.
        size: what was searched, in words: "168 files".
    """
    language = tell_language(question)
    texts = TEXTS.get(language, TEXTS["english"])
    words = {word.stem: word.text for word in find_content_words(question, language)}
    text = texts.nothing.format(size=size or "passages")
    if words:
        text += texts.looked_for.format(words=_list_words(words.values()))
    found = _list_found(words, nearest)
    if nearest and found:
        text += texts.nearest.format(name=escape_markdown(nearest.name), found=_list_words(found))
        similar = [each for each in passages if words.keys() & find_stems(each.content)]
        nearest_name = format_line(name_passage(nearest))
        others = [name for name in list_choices(similar) if name != nearest_name]
        if others:
            text += texts.others.format(others="; ".join(map(escape_markdown, others)))
    return text


def _list_found(words: dict[str, str], passage: Passage | None) -> list[str]:
    if passage is None:
        return []
    stems = find_stems(passage.content)
    return [word for stem, word in words.items() if stem in stems]


def _list_words(words: Iterable[str]) -> str:
    """List words with commas; overlapping pieces of a script without spaces are joined again."""
    listed: list[str] = []
    for word in words:
        if listed and word[0] >= UNSPACED and listed[-1].endswith(word[0]):
            listed[-1] += word[1:]
        else:
            listed.append(word)
    return ", ".join(listed)
