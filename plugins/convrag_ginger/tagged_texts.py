"""Reads the spans that a model tagged in its copy of a passage."""

from __future__ import annotations

import re

from convrag.sdk.alignment import keep_outermost
from convrag.sdk.sentences import get_first_sentence

_TAG = re.compile(r"<\s*(/?)\s*IN\s*>", re.IGNORECASE)


def read_tagged_texts(reply: str) -> list[str]:
    """The texts between <IN> and </IN>, in order, without the tags inside them.

    Of nested ones the outermost counts. Empty ones, and closing tags without an opening one, are ignored. A text
    without a closing tag ends with its sentence, or at the next tag.
    """
    tags = list(_TAG.finditer(reply))
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    for index, tag in enumerate(tags):
        if not tag[1]:
            opened.append(index)
        elif opened:
            spans.append((tags[opened.pop()].end(), tag.start()))
    for index in opened:
        start = tags[index].end()
        end = tags[index + 1].start() if index + 1 < len(tags) else len(reply)
        sentence = get_first_sentence(reply[start:end])
        spans.append((start, start + reply[start:end].find(sentence) + len(sentence)))
    texts = (_TAG.sub("", reply[start:end]).strip() for start, end in keep_outermost(spans))
    return [text for text in texts if text]
