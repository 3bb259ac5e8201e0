"""Attributes the sentences of an answer to nuggets and passages, and checks their support."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from convrag import LLM, Evidence, LLMError, Nugget, PromptTemplate
from convrag.sdk.text.analysis import split_words
from convrag.sdk.text.characters import remove_invisible
from convrag.sdk.text.sentences import remove_citations
from convrag.sdk.types import PassageSpan, Support
from convrag_ginger.length_limit import find_numbers_and_negations, is_number, stem_content


@dataclass(frozen=True)
class CitedSentence:
    """A sentence made from the nuggets of a cluster, with its citations and its support.

    `cluster` is the cluster's position. Of its nuggets, the sentence rests on `supporting`, and
    `passages` are the ids that it cites. `share` of its content words occur in its nuggets, and
    `unknown` are its numbers and negations that do not. `checked` says what decided whether it is
    `supported`: "words" or "llm".
    """

    text: str
    cluster: int
    nuggets: tuple[Nugget, ...] = field(repr=False)
    supporting: tuple[Nugget, ...] = field(repr=False)
    passages: tuple[str, ...]
    supported: bool
    share: float
    unknown: tuple[str, ...] = ()
    checked: str = "words"

    def trace(self) -> dict[str, Any]:
        """Make the trace's row: all but the nuggets, which the trace lists by themselves."""
        row = asdict(self)
        del row["nuggets"], row["supporting"]
        return row


class LexicalSupport(NamedTuple):
    """The share of a sentence's words that nuggets have, and the numbers that they lack.

    Args:
        share: of its content words, 0 to 1.
        unknown: its numbers and negations that occur in no nugget.
    """

    share: float
    unknown: list[str]

    def suffices(self, threshold: float) -> bool:
        """Tell whether the share is high enough, and nothing is unknown."""
        return self.share >= threshold and not self.unknown


@dataclass
class Attributor:
    """Finds the citations of a sentence, and whether they support it.

    Args:
        threshold: the least share of a sentence's content words that its nuggets must have.
        judge: a language model that decides instead of the words; where it gives no verdict, the
            words decide.
        template: the prompt for its task "support".
        sampling: of its calls.
    """

    threshold: float
    judge: LLM | None
    template: PromptTemplate
    sampling: dict[str, Any]

    def attribute(self, text: str, cluster: int, nuggets: Sequence[Nugget]) -> CitedSentence:
        """Cite the passages of a sentence that was made from a cluster's nuggets.

        A judge is called once.
        """
        texts = [nugget.text for nugget in nuggets]
        lexical = measure_lexical_support(text, texts)
        verdict = self._ask(self.judge, text, texts) if self.judge else None
        supporting = tuple(nuggets[index] for index in find_supporting_nuggets(text, texts))
        passages = dict.fromkeys(nugget.passage_id for nugget in supporting)
        return CitedSentence(
            text,
            cluster,
            nuggets=tuple(nuggets),
            supporting=supporting,
            passages=tuple(passages),
            supported=lexical.suffices(self.threshold) if verdict is None else verdict,
            share=lexical.share,
            unknown=tuple(lexical.unknown),
            checked="words" if verdict is None else "llm",
        )

    def _ask(self, judge: LLM, sentence: str, texts: Sequence[str]) -> bool | None:
        """Ask whether the texts support the sentence.

        None where the call fails, or the reply is neither yes nor no.
        """
        prompt = self.template.render(self.sampling, sentence=sentence, nuggets=list(texts))
        try:
            words = split_words(judge.complete(prompt).text)
        except LLMError:
            return None
        if not words:
            return None
        return {"yes": True, "no": False}.get(words[0])


def measure_lexical_support(sentence: str, texts: Sequence[str]) -> LexicalSupport:
    """Compare the words of a sentence with the words of the nuggets that it was made from."""
    known_stems: set[str] = set()
    known_words: set[str] = set()
    texts_are_negated = False
    for text in texts:
        known_stems.update(stem_content(text))
        known_words.update(split_words(text))
        if not all(map(is_number, find_numbers_and_negations(text))):
            texts_are_negated = True
    unknown = []
    for word in find_numbers_and_negations(sentence):
        is_known = word in known_words if is_number(word) else texts_are_negated
        if not is_known:
            unknown.append(word)
    stems = stem_content(sentence)
    share = sum(stem in known_stems for stem in stems) / len(stems) if stems else 1.0
    return LexicalSupport(round(share, 4), unknown)


def find_supporting_nuggets(sentence: str, texts: Sequence[str]) -> list[int]:
    """Find the positions of the nuggets on which a sentence rests.

    These are the nuggets that contain it, else the fewest that have its words. The fewest are found
    greedily, the nugget with most of the remaining words first. A nugget with the same of the
    sentence's words as one of them counts too. Where no nugget has any of the words, all of them
    count, since the sentence was made from them.
    """
    for simplify in (_on_one_line, _words_only):
        quoted = simplify(sentence)
        containing = [index for index, text in enumerate(texts) if quoted in simplify(text)]
        if containing:
            return containing
    remaining = frozenset(stem_content(sentence))
    shared = [remaining.intersection(stem_content(text)) for text in texts]
    found: set[int] = set()
    while shared:
        best = max((own & remaining for own in shared), key=len)
        if not best:
            break
        found.update(index for index, own in enumerate(shared) if best <= own)
        remaining -= best
    return sorted(found) or list(range(len(texts)))


def locate_support(answer: str, sentences: Iterable[CitedSentence]) -> tuple[Support, ...]:
    """Locate each sentence in the answer, and the nuggets on which it rests.

    Args:
        answer: contains the sentences in their order.
        sentences: the sentences.
    """
    found: list[Support] = []
    place = 0
    for sentence in sentences:
        start = answer.index(sentence.text, place)
        place = start + len(sentence.text)
        spans = dict.fromkeys(
            PassageSpan(each.passage_id, each.start, each.end) for each in sentence.supporting
        )
        found.append(Support(start, place, tuple(spans)))
    return tuple(found)


def number_passages(evidence: Evidence) -> dict[str, int]:
    """Map passage ids to their numbers in the evidence, the first where a passage has several."""
    return {item.passage.id: item.number for item in reversed(evidence.items)}


def add_citations(sentence: str, passages: Iterable[str], numbers: Mapping[str, int]) -> str:
    """Add the numbers of its passages to a sentence, in rising order: "Tea is green. [1][3]"."""
    citations = "".join(
        f"[{number}]" for number in sorted(numbers[passage] for passage in passages)
    )
    return f"{sentence} {citations}" if citations else sentence


def _on_one_line(text: str) -> str:
    return " ".join(remove_invisible(remove_citations(text)).split())


def _words_only(text: str) -> str:
    return f" {' '.join(split_words(text))} "
