"""Reads the tags that a model put around the nuggets of a passage."""

from __future__ import annotations

import re

from convrag.sdk.sentences import first_sentence

_TAG = re.compile(r"<\s*(/?)\s*IN\s*>", re.IGNORECASE)


def tagged(reply: str) -> list[str]:
    """The texts between the tags, in order, without the tags inside them.

    Of nested nuggets the outermost counts; empty ones and closing tags without an opening one are ignored; a nugget
    that is never closed ends with its sentence, or at the next tag.
    """
    tags = list(_TAG.finditer(reply))
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for index, tag in enumerate(tags):
        if not tag[1]:
            opened.append(index)
        elif opened:
            found.append((tags[opened.pop()].end(), tag.start()))
    for index in opened:
        start = tags[index].end()
        end = tags[index + 1].start() if index + 1 < len(tags) else len(reply)
        sentence = first_sentence(reply[start:end])
        found.append((start, start + reply[start:end].find(sentence) + len(sentence)))
    texts = (_TAG.sub("", reply[start:end]).strip() for start, end in outermost(found))
    return [text for text in texts if text]


def outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, without those that lie within another one."""
    kept: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or end > kept[-1][1]:
            kept.append((start, end))
    return kept
