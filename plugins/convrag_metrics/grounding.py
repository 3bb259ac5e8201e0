"""`metrics=grounding`: whether answers cite, and whether the cited passages exist and support the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from annotated_types import Interval

from convrag import LLM, Metrics, PromptTemplate, TurnRecord, operational
from convrag.sdk.answers import lacks_part
from convrag.sdk.citations import blank_citations, find_citations, strip_citations
from convrag.sdk.judges import Judge
from convrag.sdk.libraries import missing_extra
from convrag.sdk.model_files import identify_model
from convrag.sdk.parallel import map_parallel
from convrag.sdk.sentences import find_sentence_spans
from convrag.sdk.words import find_stems
from convrag_metrics.idk import detect_idk_answer
from convrag_metrics.pretrained import EXTRAS

SupportCase = tuple[str, Sequence[str]]
"""A sentence, and the texts that it cites."""
SupportJudge = Callable[[SupportCase], bool | None]
"""A case -> whether the texts support the sentence; None where that could not be found out."""

_SENTENCES, _CITED, _CITATIONS, _EXISTING, _JUDGED, _SUPPORTED = _COUNTS = tuple(
    f"grounding_{name}" for name in ("sentences", "cited", "citations", "existing", "judged", "supported")
)
_SHARES = {
    "cited_sentences": (_CITED, _SENTENCES),
    "existing_citations": (_EXISTING, _CITATIONS),
    "supported_sentences": (_SUPPORTED, _JUDGED),
}


GROUNDED = "grounded_sentences"


class GroundingMetrics(Metrics):
    """Share of sentences with a citation, of citations that exist, and of cited sentences that their passages support.

    Citations are marks like [1] or [1, 2], which name passages of the evidence by number. grounded_sentences is the
    share of an answer's sentences that cite passages which support them, and a mean over turns. The other shares are of
    all sentences and citations of the turns together; scores.jsonl has the counts of each turn. An answer that only
    says that it does not know needs no citation and is left out, as a turn without an answer is. Definitions are in
    docs/metrics.md.

    Args:
        support: how a sentence is compared with the passages that it cites: lexical (enough of its words, and all of
            its numbers), nli (an entailment model; extra `neural`) or llm.
        threshold: lexical: the share of a sentence's content words that the passages must have.
        model: nli: folder of a cross-encoder with a class called entailment, or a name in the local cache of the
            Hugging Face hub; nothing is downloaded.
        device: nli: where the model runs: cpu, cuda, mps.
        llm: llm: the model that is asked: metrics.grounding.llm=claude
        prompt: llm: a Jinja file to use instead of this package's support.jinja; it is given `sentence` and `sources`.

    Raises:
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("pydantic", "torch", "transformers")
    reads = ("answer",)

    def __init__(
        self,
        *,
        support: Literal["lexical", "nli", "llm"] = "lexical",
        threshold: Annotated[float, Interval(ge=0, le=1)] = 0.5,
        model: str | None = None,
        device: Annotated[str, operational] = "cpu",
        llm: LLM | None = None,
        prompt: Path | None = None,
    ) -> None:
        self.support = support
        self.threshold = threshold
        self.model = model
        self.device = device
        self.llm = llm
        self.template = PromptTemplate("support", package="convrag_metrics", path=prompt)
        self.prompt_templates = (self.template,)

    def check(self) -> Iterator[str]:
        """Whether `support` has the model that it needs."""
        if self.support == "llm" and self.llm is None:
            yield "support=llm needs to know which LLM to ask: metrics.grounding.llm=..."
        if self.support == "nli":
            if self.model is None:
                yield "support=nli needs a model: metrics.grounding.model=FOLDER"
            elif absent := missing_extra(EXTRAS, "support=nli"):
                yield str(absent)

    def load_libraries(self) -> None:
        """Import what answers are split into sentences with."""
        find_sentence_spans("One. Two.")

    def content_hash(self) -> str:
        """A hash of the model's files, or its commit on the hub."""
        return identify_model(str(self.model)) if self.model else ""

    def list_measures(self) -> Sequence[str]:
        return (GROUNDED, *_SHARES, "unjudged_sentences")

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Counts of each turn with an answer."""
        turns = [record for record in records if _is_measured(record)]
        if not turns:
            return {}
        workers = 4 if self.support == "llm" else 1
        counted = map_parallel(partial(self._count, self._make_judge()), turns, "grounding", workers=workers)
        return {record.turn_id: counts for record, counts in zip(turns, counted, strict=True)}

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """The shares in place of the counts; a share of nothing is left out."""
        pairs = {name: (means.get(part, 0.0), means.get(whole, 0.0)) for name, (part, whole) in _SHARES.items()}
        shares = {name: part / whole for name, (part, whole) in pairs.items() if whole}
        return shares | {name: mean for name, mean in means.items() if name not in _COUNTS}

    def _count(self, judge: SupportJudge, record: TurnRecord) -> dict[str, float]:
        """The counts of a turn."""
        passages = {item.number: item.passage.content.strip() or item.text for item in record.evidence.items}
        sentences = split_cited_sentences(record.answer.text)
        cited = [list(dict.fromkeys(number for number in each.citations if number in passages)) for each in sentences]
        cases = [
            (each.text, [passages[n] for n in known]) for each, known in zip(sentences, cited, strict=True) if known
        ]
        numbers = [number for sentence in sentences for number in sentence.citations]
        verdicts = [judge(case) for case in cases]
        unjudged = verdicts.count(None)
        counts = {
            _SENTENCES: len(sentences),
            _CITED: sum(bool(sentence.citations) for sentence in sentences),
            _CITATIONS: len(numbers),
            _EXISTING: sum(number in passages for number in numbers),
            _JUDGED: len(verdicts) - unjudged,
            _SUPPORTED: verdicts.count(True),
        }
        counts |= {"unjudged_sentences": unjudged} if self.support == "llm" else {}
        known = len(sentences) - unjudged
        share = {GROUNDED: verdicts.count(True) / known} if known else {}
        return {name: float(value) for name, value in (counts | share).items()}

    def _make_judge(self) -> SupportJudge:
        if self.support == "llm" and self.llm is not None:
            return partial(_ask_for_support, Judge("llm", self.llm), self.template)
        if self.support == "nli" and self.model is not None:
            from convrag_metrics.entailment import EntailmentModel

            return EntailmentModel(self.model, self.device).is_supported
        return partial(has_lexical_support, threshold=self.threshold)


def has_lexical_support(case: SupportCase, threshold: float) -> bool:
    """Whether the cited texts together have enough of a sentence's content words (as stems), and all of its numbers.

    A sentence without content words is supported.

    Args:
        case: the sentence and the texts.
        threshold: the share of the content words that the texts must have.
    """
    sentence, texts = case
    wanted, known = find_stems(sentence), frozenset[str]().union(*map(find_stems, texts))
    numbers = {stem for stem in wanted if any(map(str.isdigit, stem))}
    return numbers <= known and len(wanted & known) >= threshold * len(wanted)


def _ask_for_support(judge: Judge, template: PromptTemplate, case: SupportCase) -> bool | None:
    """Whether an LLM finds the sentence supported; None where the call fails or the reply cannot be read."""
    from convrag_metrics.verdicts import Supported

    reply = judge.ask(template, Supported, [], sentence=case[0], sources=list(case[1]))
    return None if reply is None else reply.supported


def _is_measured(record: TurnRecord) -> bool:
    """Whether a turn has an answer that should cite its evidence, and the evidence is known."""
    known = record.answer.text.strip() and not lacks_part(record, "evidence")
    return bool(known) and detect_idk_answer(record) != "yes"


class CitedSentence(NamedTuple):
    """A sentence without its citations, and the numbers that these name, in order."""

    text: str
    citations: tuple[int, ...]


def split_cited_sentences(answer: str) -> list[CitedSentence]:
    """The sentences of an answer that have a letter; a citation belongs to the last one that begins before it."""
    plain = blank_citations(answer)
    spans = [(start, end) for start, end in find_sentence_spans(plain) if any(map(str.isalpha, plain[start:end]))]
    numbers: list[list[int]] = [[] for _ in spans]
    for mark in find_citations(answer):
        if (place := sum(start <= mark.start for start, _ in spans)) and plain[mark.start] == " ":
            numbers[place - 1] += mark.numbers
    texts = (strip_citations(answer[start:end]) for start, end in spans)
    return [CitedSentence(text, tuple(cited)) for text, cited in zip(texts, numbers, strict=True)]
