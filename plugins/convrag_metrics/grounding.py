"""`metrics=grounding`: whether answers cite, whether what they cite is there, and whether it says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from convrag.registry.parameters import operational

from convrag import LLM, ConfigError, Metrics, PromptTemplate, TurnRecord
from convrag.registry.extras import missing_extra
from convrag.sdk.parallel import map_parallel
from convrag.store.fingerprint import digest, file_hash
from convrag_metrics.claims import Claim, claims
from convrag_metrics.texts import lacks
from convrag_metrics.unknowing import answered

if TYPE_CHECKING:
    from convrag_metrics.support import Case, Judge

_EXTRA = "convrag[neural]"
_SENTENCES, _CITED, _CITATIONS, _EXISTING, _JUDGED, _SUPPORTED = _COUNTS = tuple(
    f"grounding_{name}" for name in ("sentences", "cited", "citations", "existing", "judged", "supported")
)
_SHARES = {
    "cited_sentences": (_CITED, _SENTENCES),
    "existing_citations": (_EXISTING, _CITATIONS),
    "supported_sentences": (_SUPPORTED, _JUDGED),
}


class GroundingMetrics(Metrics):
    """Share of sentences with a citation, of citations that exist, and of cited sentences that what they cite supports.

    Citations are marks like [1] or [1, 2], which name passages of the evidence by number. The shares are of all
    sentences and citations of the turns together; scores.jsonl has the counts of each turn. An answer that only says
    that it does not know needs no citation and is left out, as a turn without an answer is. Definitions are in
    docs/metrics.md.

    Args:
        support: how a sentence is compared with the passages that it cites: lexical (enough of its words, and all of
            its numbers), nli (a model that knows entailment; extra `neural`) or llm.
        threshold: lexical: the share of a sentence's content words that the passages must have.
        model: nli: folder of a cross-encoder with a class called entailment, or a name in the local cache of the
            Hugging Face hub; nothing is downloaded.
        device: nli: where the model runs: cpu, cuda, mps.
        llm: llm: who is asked: +llm@metrics.grounding.llm=claude
        prompt: llm: a Jinja file to use instead of this package's support.jinja; it is given `sentence` and `sources`.

    Raises:
        ConfigError: the threshold is not between 0 and 1.
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        support: Literal["lexical", "nli", "llm"] = "lexical",
        threshold: float = 0.5,
        model: str | None = None,
        device: Annotated[str, operational] = "cpu",
        llm: LLM | None = None,
        prompt: Path | None = None,
    ) -> None:
        if not 0 <= threshold <= 1:
            raise ConfigError(f"metrics.grounding.threshold={threshold}: it must be between 0 and 1")
        self.support = support
        self.threshold = threshold
        self.model = model
        self.device = device
        self.llm = llm
        self.template = PromptTemplate("support", package="convrag_metrics", path=prompt)

    def check(self) -> Iterator[str]:
        """What `support` needs and does not have."""
        if self.support == "llm" and self.llm is None:
            yield "support=llm needs to know which LLM to ask: +llm@metrics.grounding.llm=..."
        if self.support == "nli":
            if self.model is None:
                yield "support=nli needs a model: metrics.grounding.model=FOLDER"
            elif absent := missing_extra({"torch": _EXTRA, "transformers": _EXTRA}, "support=nli"):
                yield str(absent)

    def content_hash(self) -> str:
        """The wording of the prompt, and the files of the model."""
        folder = Path(self.model).expanduser() if self.model else None
        files = sorted(folder.glob("*")) if folder and folder.is_dir() else []
        return digest([self.template.hash, [(path.name, file_hash(path)) for path in files if path.is_file()]])

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Counts of each turn that was answered."""
        turns = [_Turn.of(record) for record in records if _answers(record)]
        cases: list[Case] = [
            (claim.text, turn.texts(claim)) for turn in turns for claim in turn.claims if turn.texts(claim)
        ]
        verdicts = iter(self._verdicts(cases))
        return {turn.id: self._counted(turn, verdicts) for turn in turns}

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        """The shares that the counts come to; one of nothing is left out."""
        pairs = {name: (means.get(part, 0.0), means.get(whole, 0.0)) for name, (part, whole) in _SHARES.items()}
        shares = {name: part / whole for name, (part, whole) in pairs.items() if whole}
        return shares | {name: mean for name, mean in means.items() if name not in _COUNTS}

    def _counted(self, turn: _Turn, verdicts: Iterator[bool | None]) -> dict[str, float]:
        """A turn's counts; takes the next verdict for each of its sentences that cites something."""
        found = [next(verdicts) for claim in turn.claims if turn.texts(claim)]
        unjudged = {"unjudged_sentences": float(found.count(None))} if self.support == "llm" else {}
        return _counts(turn, found) | unjudged

    def _verdicts(self, cases: list[Case]) -> list[bool | None]:
        judge = self._judge() if cases else None
        if judge is None:
            return []
        if self.support == "llm":
            return list(map_parallel(judge, cases, "grounding", total=len(cases)))
        from convrag.sdk.progress import track

        return [judge(case) for case in track(cases, "grounding", len(cases))]

    def _judge(self) -> Judge:
        from convrag_metrics.support import asked, lexical

        if self.support == "llm" and self.llm is not None:
            return partial(asked, self.llm, self.template)
        if self.support == "nli" and self.model is not None:
            from convrag_metrics.nli import Nli

            return Nli(self.model, self.device).supports
        return partial(lexical, threshold=self.threshold)


class _Turn(NamedTuple):
    """What there is to count in a turn: its sentences, and the passages by number."""

    id: str
    claims: list[Claim]
    passages: Mapping[int, str]

    @classmethod
    def of(cls, record: TurnRecord) -> _Turn:
        passages = {item.number: item.passage.content.strip() or item.text for item in record.evidence.items}
        return cls(record.turn_id, claims(record.answer.text), passages)

    def texts(self, claim: Claim) -> list[str]:
        """What a sentence cites and is there, each once."""
        return [self.passages[number] for number in dict.fromkeys(claim.cited) if number in self.passages]


def _answers(record: TurnRecord) -> bool:
    """Whether a turn has an answer that should cite what it was given, where that is known."""
    known = record.answer.text.strip() and not lacks(record, "evidence")
    return bool(known) and answered(record) != "yes"


def _counts(turn: _Turn, found: Sequence[bool | None]) -> dict[str, float]:
    """The counts of one turn, given a verdict on each sentence that cites something."""
    numbers = [number for claim in turn.claims for number in claim.cited]
    counts = (
        len(turn.claims),
        sum(bool(claim.cited) for claim in turn.claims),
        len(numbers),
        sum(number in turn.passages for number in numbers),
        sum(verdict is not None for verdict in found),
        sum(verdict is True for verdict in found),
    )
    return dict(zip(_COUNTS, map(float, counts), strict=True))
