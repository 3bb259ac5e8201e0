"""Rankings evaluated by trec_eval, through ir-measures, and the passages that qrels judge."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from convrag import ConfigError, Dataset, Report, Store, TurnRecord
from convrag.sdk.search.corpus import open_passages

if TYPE_CHECKING:
    from ir_measures import Measure


BATCH = 1000
"""Turns per call of trec_eval: bounds the memory, and makes the cost of a call negligible."""

_PARSER = Lock()
"""Python 3.11 counts the depth of syntax trees for the whole process: two threads in `ast.parse`
may both fail.
"""


@lru_cache
def parse_measure(name: str) -> Measure:
    """A measure by its name, such as "nDCG@5".

    Raises:
        ConfigError: there is no such measure, or it is no mean over turns.
    """
    import ir_measures
    from ir_measures.measures import MeanAgg

    try:
        with _PARSER:
            measure = ir_measures.parse_measure(name)
        known = ir_measures.pytrec_eval.supports(measure) and isinstance(
            measure.aggregator(), MeanAgg
        )
    except (ValueError, TypeError, KeyError, NameError, AssertionError) as error:
        raise _unknown_measure(name, str(error)) from error
    if not known:
        raise _unknown_measure(name, "trec_eval has no such mean per turn")
    limits = [measure.params.get(limit, 1) for limit in ("cutoff", "rel")]
    if any(
        type(limit) is not int or limit < 1 for limit in limits
    ):  # trec_eval's C code would crash the process
        raise _unknown_measure(name, "a cutoff or grade must be at least 1")
    return measure


def _unknown_measure(name: str, reason: str) -> ConfigError:
    return ConfigError(f"{name!r} is no measure ({reason}). Write it as in nDCG@5, R@10 or RR.")


def rank_ids(ids: Iterable[str]) -> dict[str, float]:
    """Passage -> minus its rank, as a score: trec_eval sorts by score and then by id, not by our
    order.
    """
    ranking: dict[str, float] = {}
    for passage_id in ids:
        ranking.setdefault(passage_id, -float(len(ranking)))
    return ranking


def evaluate_rankings(
    measures: list[Measure], qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> dict[str, dict[str, float]]:
    """Evaluate rankings: turn -> measure -> value, turns in the order of the run and measures in
    the order given.

    trec_eval is given numbers in the place of ids: its C code ends the process for half a surrogate
    pair, and ends an id at a NUL.

    Args:
        measures: that trec_eval has; a turn without a value gets 0.
        qrels: turn -> passage -> grade.
        run: turn -> passage -> score, as `rank_ids` makes them.
    """
    import ir_measures

    turn_ids = list(run)
    judged, ranked = {}, {}
    for number, turn_id in enumerate(turn_ids):
        numbers = {passage: str(n) for n, passage in enumerate({**qrels[turn_id], **run[turn_id]})}
        judged[str(number)] = {numbers[passage]: grade for passage, grade in qrels[turn_id].items()}
        ranked[str(number)] = {numbers[passage]: score for passage, score in run[turn_id].items()}
    values = {turn_id: {str(measure): 0.0 for measure in measures} for turn_id in turn_ids}
    for metric in ir_measures.pytrec_eval.iter_calc(measures, judged, ranked):
        values[turn_ids[int(metric.query_id)]][str(metric.measure)] = float(metric.value)
    return values


_NUMBER = re.compile(r"[-:#]\d+$")
"""The number of a passage at the end of its id, after the id of its document."""


def report_absent_passages(
    dataset: Dataset,
    store: Store,
    records: Iterable[TurnRecord],
    qrels: Mapping[str, Mapping[str, int]],
) -> Report | None:
    """Report how many judgements of these turns name passages outside the corpus; None where none
    does.

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
        if (corpus := open_passages(dataset, domain, store)) is None:
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
    return Report(
        "qrels",
        (line,),
        {"judgements": judged, "outside_corpus": count, "absent_passages": passages},
    )


def fold_passage(name: str, judged: Collection[str]) -> str:
    """The document of a passage: its id without the passage's number. An id that is judged stays as
    it is.
    """
    return name if name in judged else _NUMBER.sub("", name)


def report_unjudged_passages(found: Iterable[str], judged: Collection[str]) -> Report | None:
    """Warn of a run none of whose passages is judged, with an id of each side; None where one is,
    or none was found.

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
        line += (
            "; they judge documents: metrics.ranking.documents=true counts the best passage of each"
        )
    return Report("qrels", (f"{line}.",), {"unjudged": True})
