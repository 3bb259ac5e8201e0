"""Rankings evaluated by trec_eval, through ir-measures."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from convrag import ConfigError

if TYPE_CHECKING:
    from ir_measures import Measure


BATCH = 1000
"""Turns per call of trec_eval: bounds the memory, and makes the cost of a call negligible."""

_PARSER = Lock()
"""The lock of `ast.parse`.

Python 3.11 counts the depth of syntax trees for the whole process: two threads may both fail.
"""


@lru_cache
def parse_measure(name: str) -> Measure:
    """Parse the name of a measure, such as "nDCG@5".

    Raises:
        ConfigError: there is no such measure, or it is not a mean over turns.
    """
    import ir_measures
    from ir_measures.measures import MeanAgg

    try:
        measure = _read_measure(name)
        is_supported = ir_measures.pytrec_eval.supports(measure)
        is_mean = isinstance(measure.aggregator(), MeanAgg)
    except (ValueError, TypeError, KeyError, NameError, AssertionError) as error:
        raise _unknown_measure(name, str(error)) from error
    if not is_supported or not is_mean:
        raise _unknown_measure(name, "trec_eval has no such mean per turn")
    for parameter in ("cutoff", "rel"):
        limit = measure.params.get(parameter, 1)
        if type(limit) is not int or limit < 1:  # trec_eval's C code would crash the process
            raise _unknown_measure(name, "a cutoff or grade must be at least 1")
    return measure


def _read_measure(name: str) -> Measure:
    """Make a measure of ir-measures from a name: `nDCG@5`, `RR` or `R(rel=2)@5`.

    ir-measures' own parser names classes of `ast` that Python 3.14 has no more (0.4.3).

    Raises:
        ValueError: the text is not such a name, or ir-measures has no such measure.
    """
    from ir_measures.measures import registry

    node = _read_expression(name)
    cutoff = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        cutoff = ast.literal_eval(node.right)
        node = node.left
    parameters = {}
    if isinstance(node, ast.Call):
        parameters = _read_parameters(node)
        node = node.func
    if not isinstance(node, ast.Name):
        raise ValueError("it has another form")
    if node.id not in registry:
        raise ValueError(f"measure not found: {node.id}")
    measure = registry[node.id]
    if cutoff is not None:
        parameters[measure.AT_PARAM] = cutoff
    return measure(**parameters) if parameters else measure


def _read_expression(text: str) -> ast.expr:
    """Return the syntax tree of one expression. Raises ValueError where the text is another."""
    try:
        with _PARSER:
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(error.msg) from error


def _read_parameters(call: ast.Call) -> dict[str, Any]:
    """Return the parameters of a measure: names with plain values. Raises ValueError."""
    if call.args:
        raise ValueError("a parameter needs a name, as in R(rel=2)@5")
    parameters = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ValueError("a parameter needs a name, as in R(rel=2)@5")
        parameters[keyword.arg] = ast.literal_eval(keyword.value)
    return parameters


def _unknown_measure(name: str, reason: str) -> ConfigError:
    return ConfigError(f"{name!r} is not a measure ({reason}). Write it as in nDCG@5, R@10 or RR.")


def rank_ids(ids: Iterable[str]) -> dict[str, float]:
    """Map each passage to minus its rank, as a score.

    trec_eval sorts by score and then by id, not by our order.
    """
    ranking: dict[str, float] = {}
    for passage_id in ids:
        ranking.setdefault(passage_id, -float(len(ranking)))
    return ranking


def evaluate_rankings(
    measures: list[Measure], qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> dict[str, dict[str, float]]:
    """Evaluate rankings, turn -> measure -> value.

    Turns are in the order of the run and measures in the order given. trec_eval gets numbers in
    place of ids: its C code ends the process for half a surrogate pair, and ends an id at a NUL.
    A negative grade is handed over as 0, not relevant: its C code ends the process for -2 or less.

    Args:
        measures: measures of trec_eval; a turn without a value gets 0.
        qrels: turn -> passage -> grade.
        run: turn -> passage -> score, as `rank_ids` makes them.
    """
    import ir_measures

    turn_ids = list(run)
    judged = {}
    ranked = {}
    for number, turn_id in enumerate(turn_ids):
        numbers = {passage: str(n) for n, passage in enumerate({**qrels[turn_id], **run[turn_id]})}
        judged[str(number)] = {
            numbers[passage]: max(grade, 0) for passage, grade in qrels[turn_id].items()
        }
        ranked[str(number)] = {numbers[passage]: score for passage, score in run[turn_id].items()}
    values = {turn_id: {str(measure): 0.0 for measure in measures} for turn_id in turn_ids}
    for metric in ir_measures.pytrec_eval.iter_calc(measures, judged, ranked):
        values[turn_ids[int(metric.query_id)]][str(metric.measure)] = float(metric.value)
    return values
