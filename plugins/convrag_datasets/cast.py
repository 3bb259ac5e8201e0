"""dataset=cast: TREC CAsT."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from convrag import ConfigError
from convrag_datasets.cast_topics import AUTOMATIC, MANUAL, read_field, read_resolved, read_topics, read_trees
from convrag_datasets.file_dataset import Contents, PublishedDataset, add_texts, read_grades

_RESOLVED = "resolved"


@dataclass(frozen=True)
class _Year:
    """The names of a year's files: topics by canonical results, rewrites by kind, and judgements."""

    topics: Mapping[str, str]
    rewrites: Mapping[str, str]
    qrels: tuple[str, ...]
    passages: str


_YEARS = {
    2019: _Year(
        dict.fromkeys((MANUAL, AUTOMATIC), "evaluation_topics_v1.0.json"),
        {_RESOLVED: "evaluation_topics_annotated_resolved_v1.0.tsv"},
        ("2019qrels.txt",),
        "MS MARCO passages and TREC CAR paragraphs",
    ),
    2020: _Year(
        {kind: f"2020_{kind}_evaluation_topics_v1.0.json" for kind in (MANUAL, AUTOMATIC)},
        {kind: f"2020_{kind}_evaluation_topics_v1.0.json" for kind in (MANUAL, AUTOMATIC)},
        ("2020qrels.txt",),
        "MS MARCO passages and TREC CAR paragraphs",
    ),
    2021: _Year(
        {kind: f"2021_{kind}_evaluation_topics_v1.0.json" for kind in (MANUAL, AUTOMATIC)},
        {kind: f"2021_{kind}_evaluation_topics_v1.0.json" for kind in (MANUAL, AUTOMATIC)},
        ("trec-cast-qrels-docs.2021.qrel",),
        "MS MARCO documents, KILT's Wikipedia and the Washington Post; the judgements are of whole documents",
    ),
    2022: _Year(
        dict.fromkeys((MANUAL, AUTOMATIC), "2022_evaluation_topics_tree_v1.0.json"),
        {MANUAL: "2022_evaluation_topics_tree_v1.0.json", AUTOMATIC: "2022_automatic_evaluation_topics_tree_v1.0.json"},
        ("cast2022.qrel", "2022qrels.txt"),
        "MS MARCO V2, KILT's Wikipedia and the Washington Post",
    ),
}
"""The same file of topics for both kinds of canonical results where a year does not tell them apart."""


class CastDataset(PublishedDataset):
    """TREC CAsT 2019 to 2022, from a clone of github.com/daltonj/treccastweb or from its folders 2019 to 2022.

        python -m convrag task=evaluate task.run=run.trec dataset=cast dataset.path=treccastweb dataset.year=2020

    Turn ids are those of the qrels ("81_1", "132_1-3"). The passages are licensed and not in the clone: a TREC run is
    evaluated without them, and `corpus` names those that you have. 2022 has trees: each branch is a conversation, whose
    first turns, where an earlier branch has asked them, are its history. Rewrites (rewriter=replay rewriter.kind=...):
    resolved in 2019, manual and automatic from 2020. Source: Dalton et al., TREC 2019 to 2022.

    Args:
        path: the clone, or a folder with the year's folder or its files in it.
        year: 2019, 2020, 2021 or 2022.
        canonical: whose canonical results of 2020 and 2021 are the answers of the history.
        corpus: JSONL file of passages, as dataset=jsonl has them, with CAsT's ids; gives the canonical results texts.

    Raises:
        ConfigError: there was no CAsT in this year.
    """

    source = "github.com/daltonj/treccastweb"
    no_corpus = "dataset.corpus=FILE.jsonl names a file of those that you have"

    def __init__(
        self, *, path: Path, year: int, canonical: Literal["manual", "automatic"] = "manual", corpus: Path | None = None
    ) -> None:
        if year not in _YEARS:
            raise ConfigError(f"dataset.year={year}: TREC CAsT was held in 2019, 2020, 2021 and 2022")
        below = (path / str(year) / each for each in ("data", "data/evaluation"))
        super().__init__(folders=[path / str(year), *below, path], corpus=corpus)
        self._year = year
        self._canonical = canonical

    def explain_missing_corpus(self, domain: str) -> str:
        """What this year's passages are."""
        passages = _YEARS[self._year].passages
        return f"TREC CAsT {self._year} searches {passages}, which are not published with it: {self.no_corpus}"

    def list_files(self) -> Iterable[Path | None]:
        """The topics, the rewrites and the qrels of the year."""
        year = _YEARS[self._year]
        names = dict.fromkeys([year.topics[self._canonical], *year.rewrites.values()])
        return [*map(self.find, names), self._find_qrels()]

    def read_contents(self) -> Contents:
        """Read the year's files. Raises DataError."""
        year = _YEARS[self._year]
        topics = self.require(year.topics[self._canonical])
        read = read_trees(topics) if self._year == 2022 else read_topics(topics, self._canonical)
        found = tuple(read)
        conversations = tuple(add_texts(found, self.corpus("default"))) if self._corpus else found
        grades = read_grades(qrels := self._find_qrels(), conversations)
        note = "" if qrels else f"TREC CAsT {self._year} was read without judgements: there is no {year.qrels[0]}."
        return Contents(conversations, grades, self._read_rewrites(), note)

    def _find_qrels(self) -> Path | None:
        return self.find(*_YEARS[self._year].qrels)

    def _read_rewrites(self) -> dict[str, dict[str, str]]:
        rewrites = {}
        for kind, name in _YEARS[self._year].rewrites.items():
            if path := self.find(name):
                texts = read_resolved(path) if kind == _RESOLVED else read_field(path, f"{kind}_rewritten_utterance")
                rewrites[kind] = {name: text for name, text in texts.items() if text.strip()}
        return rewrites
