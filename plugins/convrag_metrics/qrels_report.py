"""Reports on qrels that do not match the corpus, or the passages of a run."""

import re
from collections.abc import Collection, Iterable, Mapping

from convrag import Dataset, Passage, Report, Store, TurnRecord
from convrag.sdk.search.corpus import open_passages

_NUMBER = re.compile(r"[-:#]\d+$")
"""The number of a passage at the end of its id, after the id of its document."""


def report_absent_passages(
    dataset: Dataset,
    store: Store,
    records: Iterable[TurnRecord],
    qrels: Mapping[str, Mapping[str, int]],
) -> Report | None:
    """Report judgements of these turns that name passages outside the corpus; None without any.

    A domain without a corpus (rankings from a file need none) is left out.

    Args:
        dataset: has the corpora.
        store: where the passages are looked up.
        records: the turns.
        qrels: turn id -> passage id -> grade.
    """
    judgements: dict[str, list[tuple[str, str]]] = {}
    for record in records:
        pairs = [(record.turn_id, passage_id) for passage_id in qrels.get(record.turn_id, ())]
        judgements.setdefault(record.domain, []).extend(pairs)
    absent: list[tuple[str, str]] = []
    for domain, pairs in judgements.items():
        corpus = open_passages(dataset, domain, store)
        if corpus is not None:
            missing = {
                passage_id
                for passage_id in corpus.list_missing({passage_id for _, passage_id in pairs})
                if dataset.document(domain, passage_id) is None
            }
            absent += [pair for pair in pairs if pair[1] in missing]
    if not absent:
        return None
    turn_id, passage_id = absent[0]
    total = sum(map(len, judgements.values()))
    passages = len({name for _, name in absent})
    line = (
        f"{len(absent)} of {total} relevance judgements name passages that the corpus does not "
        f"have ({passages} of them; {passage_id!r} for turn {turn_id!r}, for instance): no system "
        "can find these."
    )
    numbers = {"judgements": total, "outside_corpus": len(absent), "absent_passages": passages}
    return Report("qrels", (line,), numbers)


def find_judged_id(passage: Passage, grades: Mapping[str, int]) -> str:
    """Return the id under which a passage is judged: its own, or that of its document."""
    is_judged = passage.id in grades or passage.document not in grades
    return passage.id if is_judged else passage.document


def fold_passage(name: str, judged: Collection[str]) -> str:
    """Return the document of a passage: its id without the passage's number.

    An id that is judged stays as it is.
    """
    return name if name in judged else _NUMBER.sub("", name)


def report_unjudged_passages(found: Iterable[str], judged: Collection[str]) -> Report | None:
    """Warn of a run none of whose passages is judged, with an id of each side.

    It is None where one is judged, or none was found.

    Args:
        found: the ids of the passages of all measured turns.
        judged: the ids of the qrels.
    """
    example = ""
    document = ""
    for name in found:
        if name in judged:
            return None
        if not example:
            example = name
        if not document:
            folded = fold_passage(name, judged)
            if folded in judged:
                example = name
                document = folded
    if not example:
        return None
    line = (
        f"No passage that was found is judged, so all scores are 0: this run has {example!r}, for "
        f"instance, and the relevance judgements have {document or min(judged)!r}"
    )
    if document:
        line += (
            "; they judge documents: metrics.ranking.documents=true counts the best passage of each"
        )
    return Report("qrels", (f"{line}.",), {"unjudged": True})
