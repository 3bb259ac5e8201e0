"""The corpus that judgements are about, and judgements on passages that it does not have, which no system can find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from convrag import Dataset, Report, Store, TurnRecord
from convrag.sdk.corpus import Corpus


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
