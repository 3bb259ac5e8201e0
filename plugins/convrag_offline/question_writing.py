"""Task "question" without a language model: questions made of the sentences of a passage, by rules
for English.

"The daily allowance is 40 euros" gives "What is the daily allowance?"; "Requests must be submitted
within ten days" gives "When must requests be submitted?"; others are asked about by their subject
("What should I know about full membership?"). A follow-up puts a pronoun in the place of what the
conversation was about ("When must they be submitted?"), or asks by ellipsis ("What about the daily
allowance?"). The answer is the sentence. Such questions keep the words of the passage: passages are
easier to find for them than for those of people.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.analysis import ANAPHORS, find_stems, find_words
from convrag.sdk.text.overlap import sum_share
from convrag.sdk.text.sentences import split_sentences
from convrag_offline.rewriting import History, find_missing_words

BE = frozenset(("is", "are", "was", "were"))
MODALS = frozenset(("can", "may", "must", "should", "will", "shall", "cannot"))
PLURAL_VERBS = frozenset(("are", "were", "have", "do"))
PRONOUNS = frozenset(("it", "they", "he", "she"))
POSSESSIVES = frozenset(("its", "their", "his", "her"))
ARTICLES = frozenset(("a", "an", "the", "one"))
DETERMINERS = frozenset(
    ("all", "each", "most", "some", "many", "your", "our", "their", "its", "his", "her")
)

_VERBS = """
cost costs take takes took last lasts lasted contain contains contained provide provides provided have has had require
requires required need needs needed offer offers offered use uses used cover covers covered get gets got receive
receives received pay pays paid begin begins began start starts started end ends ended hold holds held support
supports supported produce produces produced earn earns earned open opens opened close closes closed fly flies flew
die dies died arrive arrives arrived win wins won weigh weighs weighed become becomes became
"""
_BREAKS = """
that which who whom whose if when where while because as than although though whether and or but not there then thus
however here so also this these those what how why said says up nobody anyone everyone everybody no nothing none neither
either every only even both such i we you suggest suggests indicate indicates show shows believe believes argue argues
claim claims think thinks speculated
"""
_PREPOSITIONS = "about above according after among at before below between by during for from in of on over since to under"
_OBJECTS = {"he": "him", "she": "her", "they": "them"}

BREAKS = frozenset(_BREAKS.split())
"""A subject with one of these is a clause, or something else that cannot be asked about."""
PREPOSITIONS = frozenset((*_PREPOSITIONS.split(), "until", "when", "with", "within", "without"))
"""A sentence that begins with one of these does not begin with its subject."""

TIME = re.compile(
    r"\b(?:within|before|after|until|by|since|every|from|on|in|at) (?:the )?(?:\d|one\b|two\b|three\b|ten\b"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:january|february|march|april|june|july|august|september|october"
    r"|november|december|spring|summer|autumn|winter|noon|midnight)\b)",
    re.IGNORECASE,
)
PARTICIPLE = re.compile(
    "[a-z]{2,}ed|built|held|made|written|sent|paid|given|taken|born|sold|kept|found|shown|put|cut|brought|chosen"
)

LONGEST_SUBJECT = 7
"""Words of a subject, at most."""

_EDGE = re.compile(r"[^\w%€$£)]+$")
_VERB_WORDS = BE | MODALS | frozenset(_VERBS.split())


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
            return (
                ParsedSentence(text, _lower_first(words[:index], word, passage), word, rest)
                if rest
                else None
            )
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
    first, *others = parsed.rest.replace("{", "(").replace("}", ")").split()
    be = " be" if parsed.verb in MODALS and first == "be" and others else ""
    done = others[0] if be else first
    verb = "can" if parsed.verb == "cannot" else parsed.verb
    if (be or verb in BE) and PARTICIPLE.fullmatch(done) and TIME.search(parsed.rest):
        yield f"When {verb} {{}}{be} {done}?"
    elif verb in BE and (first in ARTICLES or first[0].isdigit()):
        yield f"What {verb} {{}}?"
    yield "What should I know about {}?"


def _lower_first(subject: Sequence[str], verb: str, passage: str) -> str:
    """A subject without the capital letter of its sentence, unless that belongs to a name."""
    first, *others = subject
    common = first.lower() in ARTICLES | DETERMINERS | PRONOUNS
    is_name = bool(re.search(rf"[a-z,;] {re.escape(first)}\b", passage)) or not first[1:].islower()
    before_name = bool(others) and others[0][0].isupper()
    plural = first.endswith("s") and not verb.endswith("s")
    alone = not others and not plural and not re.search(rf"\b{re.escape(first.lower())}\b", passage)
    keeps = not common and (is_name or before_name or alone)
    return " ".join([first if keeps else first.lower(), *others])


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
    """JSON with a question, its answer, the sentence of the passage that it rests on, and the
    standalone question.

    Args:
        kind: opening, follow_up or topic_shift.
        style: how the question should begin, where there is a choice: "what", "how many", ...
        title: of the passage; the path of its headings, maybe.
        passage: its text.
        history: the conversation so far, oldest exchange first.
        refused: earlier proposals, each with `question`.
        frequencies: unused; rules need none.
    """
    seen = {_normalise(each["question"]) for each in refused} | {
        _normalise(each["user"]) for each in history
    }
    told = {_normalise(each["assistant"]) for each in history}
    found = [
        each
        for each in _find_candidates(kind, title, passage, history)
        if not {_normalise(each.question), _normalise(each.standalone)} & seen
        and _normalise(each.sentence) not in told
    ]
    best = min(
        found,
        key=lambda each: (each.rank, not each.question.lower().startswith(style)),
        default=None,
    )
    question, standalone, sentence = best[1:] if best else ("", "", "")
    row = {"question": question, "answer": sentence, "quote": sentence, "standalone": standalone}
    return json.dumps(row, ensure_ascii=False)


def find_prose(passage: str) -> list[str]:
    """The sentences of a passage that say something: no headings, rows of tables, links or
    fragments.
    """
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
        if (
            name
            and len(name.split()) <= LONGEST_SUBJECT
            and name.split()[0].lower() not in POSSESSIVES
        ):
            pronoun = _choose_pronoun(parsed)
            yield from _vary(kind, parsed, _Subject(name, topic, pronoun), known)
        subject = name
    if sentences and topic and len(parts) > 1 and _is_topic(parts[-2]) and kind != "follow_up":
        question = f"What should I know about {topic} in {parts[-2]}?"
        yield _Candidate(_TITLE, question, question, sentences[0])


def _is_topic(heading: str) -> bool:
    """Whether a heading names something, in words: "Opening hours", and not "What is left" or
    "f(x)".
    """
    words = heading.split()
    return (
        bool(_PLAIN.fullmatch(heading))
        and len(words) <= LONGEST_SUBJECT
        and words[0].lower() not in BREAKS
    )


def _vary(
    kind: str, parsed: ParsedSentence, subject: _Subject, known: frozenset[str]
) -> Iterator[_Candidate]:
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
        full = question.format(subject.name)
        if kind != "follow_up":
            opening = full if _says_enough(subject.name) else _add_topic(full, subject)
            yield _Candidate(rank + 10 * parsed.has_pronoun, opening, opening, parsed.text)
        elif is_known:
            pronoun = (
                _OBJECTS.get(subject.pronoun, "it") if "about {}" in question else subject.pronoun
            )
            yield _Candidate(rank, question.format(pronoun), _add_topic(full, subject), parsed.text)
    if kind == "follow_up" and not parsed.has_pronoun and not is_known:
        full = _add_topic(f"What should I know about {subject.name}?", subject)
        yield _Candidate(_ELLIPSIS, f"What about {subject.name}?", full, parsed.text)


def _says_enough(name: str) -> bool:
    """Whether a subject can be understood without its passage: a name can, or two words, but not
    "the project".
    """
    return any(word[0].isupper() for word in name.split()) or len(find_stems(name)) > 1


def _add_topic(question: str, subject: _Subject) -> str:
    """A question with the topic before it, unless its subject names it: "About the Mary Rose: what
    ...".
    """
    if not subject.topic or find_stems(subject.topic) <= find_stems(subject.name):
        return question
    return f"About {subject.topic}: {question[0].lower()}{question[1:]}"


def _choose_pronoun(parsed: ParsedSentence) -> str:
    """The pronoun that stands for the subject of a sentence."""
    if parsed.has_pronoun:
        return parsed.subject.lower()
    head = _AFTER_HEAD.split(parsed.subject)[0]
    if parsed.verb in PLURAL_VERBS or (parsed.verb in MODALS and re.search("[^s]s$", head)):
        return "they"
    return "it"


def _normalise(text: str) -> str:
    return " ".join(text.lower().split())


_SAME = 0.6
"""The share of the shorter answer's content words that the other one has, where both say the same.
"""

_ELLIPTICAL = re.compile(r"^(?:and|but|so|what about|how about|why not)\b", re.IGNORECASE)


def solve(
    question: str, title: str, passage: str, history: History, frequencies: DocumentFrequencies
) -> str:
    """JSON with the sentence of the passage that covers most of the question; empty where none
    covers anything.

    Of equal sentences the first is taken. A question about the title is answered by the first
    sentence.

    Args:
        question: in the conversation.
        title: of the passage.
        passage: its text.
        history: the conversation before the question, oldest exchange first.
        frequencies: tell rare words from common ones.
    """
    added = " ".join(find_missing_words(question, history, frequencies))
    weights = frequencies.weigh_question(find_stems(question))
    extra = frequencies.weigh_question(find_stems(added))
    sentences = find_prose(passage)
    scores = [
        (sum_share(stems, weights), sum_share(stems, extra)) for stems in map(find_stems, sentences)
    ]
    best = max(range(len(scores)), key=lambda index: (scores[index], -index), default=None)
    if best is None or (not any(scores[best]) and not find_stems(title) & weights.keys()):
        return json.dumps({"answer": ""})
    return json.dumps({"answer": sentences[best]}, ensure_ascii=False)


def compare(question: str, answer: str, other: str, frequencies: DocumentFrequencies) -> str:
    """JSON that says whether two answers have most words in common."""
    one, two = sorted((find_stems(answer), find_stems(other)), key=len)
    return json.dumps({"same": bool(one) and len(one & two) >= _SAME * len(one)})


def judge_clarity(question: str, frequencies: DocumentFrequencies) -> str:
    """JSON that says whether a question names what it is about, and refers to nothing said before."""
    clear = (
        not any(word.text.lower().replace("’", "'") in ANAPHORS for word in find_words(question))
        and not _ELLIPTICAL.match(question)
        and bool(find_stems(question))
    )
    return json.dumps({"clear": clear})
