"""The passages that judgements are about: which the corpus lacks, and runs none of whose passages is judged."""

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import islice

from convrag import Dataset, Report, Store, TurnRecord
from convrag.sdk.corpus import Corpus

_NUMBER = re.compile(r"[-:#]\d+$")
"""The number of a passage at the end of its id, after the id of its document."""


def report_absent_passages(
    dataset: Dataset, store: Store, records: Iterable[TurnRecord], qrels: Mapping[str, Mapping[str, int]]
) -> Report | None:
    """Report how many judgements of these turns name passages outside the corpus; None where none does.

    A domain without a corpus (rankings from a file need none) is left out.

    Args:
        dataset: has the corpora.
        store: where the passages are looked up.
        records: the turns.
        qrels: turn id -> passage id -> grade.
    """
    judgements: dict[str, list[tuple[str, str]]] = {}
    for record in records:
        judgements.setdefault(record.domain, []).extend(
            (record.turn_id, name) for name in qrels.get(record.turn_id, ())
        )
    absent: list[tuple[str, str]] = []
    for domain, pairs in judgements.items():
        if (corpus := open_corpus(dataset, domain, store)) is None:
            continue
        missing = set(corpus.list_missing({passage for _, passage in pairs}))
        absent += [(turn, passage) for turn, passage in pairs if passage in missing]
    if not absent:
        return None
    turn, passage = absent[0]
    count, judged = len(absent), sum(map(len, judgements.values()))
    passages = len({name for _, name in absent})
    line = (
        f"{count} of {judged} relevance judgements name passages that the corpus does not have ({passages} of them; "
        f"{passage!r} for turn {turn!r}, for instance): no system can find these."
    )
    return Report("qrels", (line,), {"judgements": judged, "outside_corpus": count, "absent_passages": passages})


def open_corpus(dataset: Dataset, domain: str, store: Store) -> Corpus | None:
    """Open the corpus of a domain; None where it has none (rankings from a file need none)."""
    if domain not in dataset.domains() or not any(True for _ in islice(dataset.corpus(domain), 1)):
        return None
    return Corpus(dataset, domain, store)


def fold_passage(name: str, judged: Collection[str]) -> str:
    """The document of a passage: its id without the passage's number. An id that is judged stays as it is."""
    return name if name in judged else _NUMBER.sub("", name)


def report_unjudged_passages(found: Iterable[str], judged: Collection[str]) -> Report | None:
    """Warn of a run none of whose passages is judged, with an id of each side; None where one is, or none was found.

    Args:
        found: the ids of the passages of all measured turns.
        judged: the ids of the qrels.
    """
    unjudged, document = "", ""
    for name in found:
        if name in judged:
            return None
        if not document:
            unjudged = unjudged or name
            if (folded := fold_passage(name, judged)) in judged:
                unjudged, document = name, folded
    if not unjudged:
        return None
    line = (
        f"No passage that was found is judged, so all scores are 0: this run has {unjudged!r}, for instance, and the "
        f"relevance judgements have {document or min(judged)!r}"
    )
    if document:
        line += "; they judge documents: metrics.ranking.documents=true counts the best passage of each"
    return Report("qrels", (f"{line}.",), {"unjudged": True})
