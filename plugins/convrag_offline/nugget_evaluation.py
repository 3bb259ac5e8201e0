"""Tasks "nuggetise", "importance" and "assign" without a language model: a stand-in that goes by words in common.

It finds sentences and words, not facts: a paraphrase is no support to it, and a contradiction in the same words is. Its
scores show that everything works, and compare answers that quote; they are no judgement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from convrag_offline.answering import MATCH
from convrag_offline.document_frequencies import Frequencies
from convrag_offline.nugget_detection import CLOSE, OPEN
from convrag_offline.nugget_detection import nuggets as tagged
from convrag_offline.rewriting import Exchange, lacking_words
from convrag_offline.tokens import content_words
from convrag_offline.weighing import weights

_TAGGED = re.compile(f"{OPEN}(.*?){CLOSE}", re.DOTALL)

PARTIAL = 0.5
"""Share of a nugget's content words that partial support has; support has all of them."""


def nuggetise(
    question: str,
    history: Sequence[Exchange],
    passages: Sequence[Mapping[str, Any]],
    nuggets: Sequence[str],
    most: int,
    words: int,
    frequencies: Frequencies,
) -> str:
    """The list with what the passages add: the beginnings of the sentences that match the question, best first."""
    wanted = _wanted(question, history, frequencies)
    copies = [tagged(wanted, each["text"], frequencies, each.get("title", "")) for each in passages]
    found = [span for copy in copies for span in _TAGGED.findall(copy)]
    clipped = dict.fromkeys([*nuggets, *(" ".join(span.split()[:words]) for span in found)])
    weight = weights(_stems(wanted), frequencies)
    best = sorted(clipped, key=lambda text: -_share(text, weight))
    return json.dumps({"nuggets": best[:most]}, ensure_ascii=False)


def importance(question: str, history: Sequence[Exchange], nuggets: Sequence[str], frequencies: Frequencies) -> str:
    """Vital is what covers half of the question's weight, as a sentence must that answers it."""
    weight = weights(_stems(_wanted(question, history, frequencies)), frequencies)
    return json.dumps({"labels": ["vital" if _share(text, weight) >= MATCH else "okay" for text in nuggets]})


def assign(nuggets: Sequence[str], answer: str, frequencies: Frequencies) -> str:
    """Support is where the answer has all content words of a nugget, partial where it has half of them."""
    there = _stems(answer)
    return json.dumps({"labels": [_label(_stems(text), there) for text in nuggets]})


def _label(wanted: set[str], there: set[str]) -> str:
    share = len(wanted & there) / len(wanted) if wanted else 0.0
    return "support" if share == 1 else "partial" if share >= PARTIAL else "none"


def _wanted(question: str, history: Sequence[Exchange], frequencies: Frequencies) -> str:
    """The question with the words that it lacks where it refers back."""
    return " ".join([question, *lacking_words(question, history, frequencies)])


def _share(text: str, weight: dict[str, float]) -> float:
    """The share of the question's weight that a text covers."""
    total = sum(weight.values())
    return sum(weight[stem] for stem in sorted(_stems(text) & weight.keys())) / total if total else 0.0


def _stems(text: str) -> set[str]:
    return {word.stem for word in content_words(text)}
