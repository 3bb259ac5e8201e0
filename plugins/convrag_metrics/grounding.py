"""`metrics=grounding`: whether answers cite, and whether the cited passages exist and support the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from annotated_types import Interval

from convrag import LLM, Metrics, PromptTemplate, TurnRecord, operational
from convrag.sdk.answers import lacks_part
from convrag.sdk.citations import blank_citations, find_citations, strip_citations
from convrag.sdk.libraries import missing_extra
from convrag.sdk.model_files import identify_model
from convrag.sdk.parallel import map_parallel
from convrag.sdk.sentences import find_sentence_spans
from convrag_metrics.idk import detect_idk_answer
from convrag_metrics.pretrained import EXTRAS

if TYPE_CHECKING:
    from convrag_metrics.citation_support import SupportCase, SupportJudge


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
        turns = [_CitingTurn.from_record(record) for record in records if _is_measured(record)]
        cases = [case for turn in turns for case in turn.list_cases()]
        verdicts = iter(self._judge_cases(cases))
        return {turn.id: self._count(turn, verdicts) for turn in turns}

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """The shares in place of the counts; a share of nothing is left out."""
        pairs = {name: (means.get(part, 0.0), means.get(whole, 0.0)) for name, (part, whole) in _SHARES.items()}
        shares = {name: part / whole for name, (part, whole) in pairs.items() if whole}
        return shares | {name: mean for name, mean in means.items() if name not in _COUNTS}

    def _count(self, turn: _CitingTurn, verdicts: Iterator[bool | None]) -> dict[str, float]:
        """A turn's counts; takes the next verdict for each of its cases."""
        found = [next(verdicts) for _ in turn.list_cases()]
        unjudged = {"unjudged_sentences": float(found.count(None))} if self.support == "llm" else {}
        known = len(turn.sentences) - found.count(None)
        grounded = {GROUNDED: found.count(True) / known} if known else {}
        return turn.count_citations(found) | grounded | unjudged

    def _judge_cases(self, cases: list[SupportCase]) -> list[bool | None]:
        judge = self._make_judge() if cases else None
        if judge is None:
            return []
        if self.support == "llm":
            return list(map_parallel(judge, cases, "grounding", total=len(cases)))
        from convrag.sdk.progress import track

        return [judge(case) for case in track(cases, "grounding", len(cases))]

    def _make_judge(self) -> SupportJudge:
        from convrag_metrics.citation_support import ask_for_support, has_lexical_support

        if self.support == "llm" and self.llm is not None:
            return partial(ask_for_support, self.llm, self.template)
        if self.support == "nli" and self.model is not None:
            from convrag_metrics.entailment import EntailmentModel

            return EntailmentModel(self.model, self.device).is_supported
        return partial(has_lexical_support, threshold=self.threshold)


class _CitingTurn(NamedTuple):
    """A turn to count: the sentences of its answer, and the passages of the evidence by number."""

    id: str
    sentences: list[CitedSentence]
    passages: Mapping[int, str]

    @classmethod
    def from_record(cls, record: TurnRecord) -> _CitingTurn:
        passages = {item.number: item.passage.content.strip() or item.text for item in record.evidence.items}
        return cls(record.turn_id, split_cited_sentences(record.answer.text), passages)

    def list_cases(self) -> list[SupportCase]:
        """Each sentence that cites an existing passage, with the passages that it cites, each once."""
        cases: list[SupportCase] = []
        for sentence in self.sentences:
            numbers = dict.fromkeys(sentence.citations)
            if texts := [self.passages[number] for number in numbers if number in self.passages]:
                cases.append((sentence.text, texts))
        return cases

    def count_citations(self, verdicts: Sequence[bool | None]) -> dict[str, float]:
        """The counts of the turn, given a verdict on each of its cases."""
        numbers = [number for sentence in self.sentences for number in sentence.citations]
        counts = (
            len(self.sentences),
            sum(bool(sentence.citations) for sentence in self.sentences),
            len(numbers),
            sum(number in self.passages for number in numbers),
            sum(verdict is not None for verdict in verdicts),
            sum(verdict is True for verdict in verdicts),
        )
        return dict(zip(_COUNTS, map(float, counts), strict=True))


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
