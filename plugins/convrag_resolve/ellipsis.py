"""Questions that leave out what was said: "why?", "and in winter?", "what about Bergen?", "any awards?"."""

from __future__ import annotations

import re

from convrag_resolve.conversation import SaidSoFar
from convrag_resolve.entities import Entity, is_same
from convrag_resolve.links import Link, lower_first
from convrag_resolve.mentions import Mention
from convrag_resolve.noun_phrases import NounPhrase
from convrag_resolve.reading import Reading
from convrag_resolve.tags import Token
from convrag_resolve.vocabulary import ARTICLES, AUXILIARIES, TIME_NOUNS, split_words

_SOUNDS = r"(?:and|but|so|ok|okay|then|oh|hmm|wow|cool|great|nice|right|really|interesting|i see|thanks|thank you|sure)"
_BARE = re.compile(
    rf"^\W*(?:{_SOUNDS}\W+)*"
    r"((?:why|how|when|where|who)|why not|how (?:so|come|much|many|long|often|far|old)|since when"
    r"|(?:how|why|where|when) exactly)\W*$",
    re.IGNORECASE,
)
_OPENER = re.compile(
    rf"^\W*(?:{_SOUNDS}\W+)*(?:what|how)\s+about\s+|^\W*(?:and|or|but|also)\s+(?:also\s+)?", re.IGNORECASE
)
_EXISTENTIAL = re.compile(r"^\W*(?:is|are|was|were)\s+there\s+(?:an?|any|some)\b", re.IGNORECASE)
_CONTINUES = split_words("else other others another similar instead additional same different")
_MORE = re.compile(
    r"\bmore\s*(?:[?.!]|$|about\b|details|information|info|examples|on (?:this|that|it)\b)"
    r"|\b(?:any|some|an|give)(?: me)?(?: an)? (?:examples?|details)\b",
    re.IGNORECASE,
)
_MOST_OWN = 2
_FRAGMENT_WORDS = 5
_LONGEST = 12
_PLACES = frozenset(("when", "where", "why", "how"))


def find_ellipsis(reading: Reading, said: SaidSoFar, *, linked: bool) -> Link | None:
    """Complete an elliptical question from the last one.

    Args:
        reading: the question.
        said: the conversation before it.
        linked: whether another reference of the question was written out already; then only "why?" and such are.
    """
    if not said.turns:
        return None
    last = said.reader(said.turns[-1].standalone)
    if match := _BARE.match(reading.text):
        return _complete_question_word(match[1], reading, last, said)
    if linked:
        return None
    if (opener := _OPENER.match(reading.text)) and opener.end() < len(reading.text):
        return _replace_parallel(reading, opener.end(), last, said)
    return _add_topic(reading, said)


def _complete_question_word(word: str, reading: Reading, last: Reading, said: SaidSoFar) -> Link | None:
    """Make "Why is the museum closed?" of "why?"; behind a question with a question word, ask both."""
    words = [token.lower for token in last.tokens]
    if not words:
        return None
    asked = word.lower()
    text = last.text.strip().rstrip("?.! ")
    if words[0] in AUXILIARIES and asked not in ("who", "how many"):
        written = f"{word[0].upper()}{word[1:].lower()} {lower_first(text)}?"
    elif asked in _PLACES and words[0] in _PLACES and words[1:2] and words[1] in AUXILIARIES and asked != words[0]:
        written = f"{word[0].upper()}{word[1:].lower()} {text.split(maxsplit=1)[1]}?"
    else:
        written = f"{text}, and {asked}?"
    return _link_whole(
        reading, said, written, said.turns[-1].standalone, "the last question, with another question word"
    )


def _replace_parallel(reading: Reading, start: int, last: Reading, said: SaidSoFar) -> Link | None:
    """Make "How old is Bergen?" of "what about Bergen?" after "How old is Oslo?"."""
    rest = reading.text[start:].strip().rstrip("?.! ")
    tokens = [token for token in reading.tokens if token.start >= start and token.tag != "punct"]
    if not rest or not tokens:
        return None
    if any(token.tag in ("verb", "aux", "wh", "pron", "dem", "speaker") for token in tokens):
        return (
            _add_topic(reading, said)
            if not reading.text.lower().lstrip().startswith(("and ", "but ", "so ", "or "))
            else None
        )
    question = last.text.strip().rstrip("?.! ")
    if len(tokens) > _FRAGMENT_WORDS + 1:
        return _add_topic(reading, said)
    if not last.tokens or len(last.tokens) > 30:
        return None
    if tokens[0].tag in ("prep", "to"):
        written = _replace_prepositional(rest, tokens, last, question)
    else:
        mentions = list(reading.list_mentions())
        replaced = _find_parallel(reading, mentions[0] if mentions else None, last, said)
        if replaced is None:
            return _add_topic(reading, said)
        written = _splice(last, replaced, rest)
    return _link_whole(
        reading, said, written + "?", said.turns[-1].standalone, "the last question, with another phrase"
    )


def _replace_prepositional(rest: str, tokens: list[Token], last: Reading, question: str) -> str:
    """Put "in winter" in the place of the last question's "in summer", or at its end."""
    times = tokens[-1].lower in TIME_NOUNS
    for phrase in reversed(last.phrases):
        before = last.tokens[phrase.first - 1] if phrase.first else None
        if before is None or before.lower != tokens[0].lower:
            continue
        if times != (last.tokens[phrase.last - 1].lower in TIME_NOUNS):
            continue
        return (last.text[: before.start] + rest + last.text[last.tokens[phrase.last - 1].end :]).strip().rstrip("?.! ")
    return f"{question} {rest}"


def _find_parallel(
    reading: Reading, new: tuple[NounPhrase, Mention] | None, last: Reading, said: SaidSoFar
) -> NounPhrase | None:
    """The phrase of the last question whose place the new one takes: the same noun, or the same kind of phrase."""
    if new is None or new[0].last - new[0].first > 5:
        return None
    _, mention = new
    old = list(last.list_mentions())
    same_head = [phrase for phrase, each in old if each.head == mention.head and not is_same(each, mention)]
    if same_head:
        return same_head[-1]
    if any(is_same(each, mention) for _, each in old):
        return None
    if mention.head in TIME_NOUNS:
        return next((phrase for phrase in last.phrases if last.tokens[phrase.last - 1].lower in TIME_NOUNS), None)
    names = [phrase for phrase, each in old if each.name and not each.asked]
    if mention.name:
        return names[-1] if names else None
    topic = said.find_topic()
    alike = [
        phrase
        for phrase, each in old
        if not each.asked and each.plural == mention.plural and _find_article(each) == _find_article(mention)
    ]
    if len(alike) == 1 and (
        topic is None or any(is_same(each, topic.mention) for phrase, each in old if phrase == alike[0])
    ):
        return alike[0]
    return None


def _find_article(mention: Mention) -> str:
    first = mention.text.split()[0].lower()
    return first if first in ARTICLES else ""


def _splice(last: Reading, phrase: NounPhrase, rest: str) -> str:
    return last.text.replace(last.write(phrase), rest, 1).strip().rstrip("?.! ")


def _add_topic(reading: Reading, said: SaidSoFar) -> Link | None:
    """Put the topic before a question that lacks one: "About The Office: any awards?"."""
    topic = said.find_topic()
    if topic is None or not _lacks_topic(reading, topic):
        return None
    written = f"About {topic.mention.text}: {lower_first(reading.text.strip())}"
    return _link_whole(reading, said, written, topic.mention.text, "the topic", topic.turn_id)


def _lacks_topic(reading: Reading, topic: Entity) -> bool:
    start = max((n for n, token in enumerate(reading.tokens) if token.first), default=0)
    words = [token for token in reading.tokens[start:] if token.tag != "punct"]
    mentions = [mention for _, mention in reading.list_mentions()]
    own = {stem for mention in mentions for stem in mention.stems}
    if own & set(topic.mention.stems):
        return False
    is_fragment = len(words) <= _FRAGMENT_WORDS and not any(
        token.tag in ("verb", "aux", "speaker", "intj") for token in words
    )
    if is_fragment:
        return _is_elliptical(reading, words) and not any(mention.name for mention in mentions)
    if len(words) > _LONGEST or any(token.tag in ("pron", "poss", "dem") for token in words):
        return False
    if any(mention.name for mention in mentions) or len(own) > _MOST_OWN:
        return False
    if any(token.lower in _CONTINUES for token in words):
        return True
    if _EXISTENTIAL.match(reading.text) and not any(token.tag in ("speaker", "prep", "verb") for token in words):
        return True
    if _OPENER.match(reading.text) and "about" in reading.text.lower()[:20]:
        return True
    return bool(_MORE.search(reading.text)) and not mentions


def _is_elliptical(reading: Reading, words: list[Token]) -> bool:
    """Whether a phrase without a verb is a question ("any awards", "streaming services?") and not a term to look up."""
    if not words or any(token.tag in ("prep", "to") for token in words[1:]):
        return False
    return words[0].tag == "det" or words[0].lower == "how" or reading.text.rstrip().endswith("?")


def _link_whole(reading: Reading, said: SaidSoFar, written: str, antecedent: str, rule: str, turn_id: str = "") -> Link:
    return Link(
        "ellipsis", reading.text.strip(), antecedent, turn_id or said.turns[-1].id, rule, 0, len(reading.text), written
    )
