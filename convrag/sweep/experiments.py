"""The experiments of a grid's cells: which cells are the same, and what each can be measured by."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from omegaconf import DictConfig

from convrag.api.groups import GROUPS, OPTION_KEY
from convrag.api.records import Cell
from convrag.api.stages import Metrics
from convrag.config.settings import read_metric_names
from convrag.store.fingerprint import digest
from convrag.turn.turn import Stages
from convrag.turn.wiring import Wiring

log = logging.getLogger(__name__)

_OPERATIONAL_SETTINGS = ("workers", "plugins", "store", "sweep")


@dataclass(frozen=True)
class Experiment:
    """The stages and settings that a cell really uses.

    Args:
        identity: a hash that is equal where the results are.
        groups: the groups whose stage it uses.
        measures: all measures that its metrics may give; None where one of the metrics does not
            say.
        gaps: a measure that `sweep.metric` names and that its data set lacks -> the reason.
        empty: whether its data set has no conversations.
    """

    identity: str
    groups: frozenset[str]
    measures: tuple[str, ...] | None = None
    gaps: Mapping[str, str] = field(default_factory=dict)
    empty: bool = False


def read_experiment(config: DictConfig) -> Experiment | None:
    """Return the experiment of a cell's configuration. Its stages are built, and not prepared.

    Returns:
        None where that is not known: the task is not task=run, or a stage cannot be built (running
        the cell says why).
    """
    try:
        wiring = Wiring(config)
        if wiring.config["task"][OPTION_KEY] != "run":
            return None
        return _read_built(wiring)
    except Exception:  # a plugin may raise anything; running the cell says it to the user
        log.info("the experiment of a cell cannot be told", exc_info=True)
        return None


def _read_built(wiring: Wiring) -> Experiment:
    """Build the stages of a run, and return its experiment."""
    for group in ("dataset", *Stages._fields):
        wiring.get(group)
    is_empty = not any(True for _ in wiring.get("dataset").conversations())
    metrics = wiring.get_all("metrics").values()
    listed = [metric.list_measures() for metric in metrics]
    measures = None
    if all(listed):
        measures = tuple(name for names in listed for name in names)
    settings = {
        key: value
        for key, value in wiring.config.items()
        if key not in GROUPS and key not in _OPERATIONAL_SETTINGS
    }
    return Experiment(
        identity=digest([wiring.collect_fingerprints(), settings]),
        groups=frozenset(place.partition(".")[0] for place in wiring.stages),
        measures=measures,
        gaps=_find_gaps(metrics, read_metric_names(wiring.config["sweep"]["metric"])),
        empty=is_empty,
    )


def _find_gaps(metrics: Iterable[Metrics], wanted: Sequence[str]) -> dict[str, str]:
    """Return measure -> reason for the wanted measures that the data set lacks."""
    gaps: dict[str, str] = {}
    for metric in metrics:
        reason = metric.explain_gap()
        if reason:
            gaps |= {name: reason for name in metric.list_measures() if name in wanted}
    return gaps


def mark_same(cells: Sequence[Cell], experiments: Sequence[Experiment | None]) -> list[Cell]:
    """Return the cells; those that repeat an earlier experiment have `state` and `same_as` set."""
    first: dict[str, str] = {}
    marked = []
    for cell, experiment in zip(cells, experiments, strict=True):
        if experiment:
            original = first.setdefault(experiment.identity, cell.id)
            if original != cell.id:
                cell = replace(cell, state="same", same_as=original)
        marked.append(cell)
    return marked


def explain_same(cells: Sequence[Cell], experiments: Sequence[Experiment | None]) -> list[str]:
    """Return a sentence for each factor that made no difference to some of the cells, and why.

    Args:
        cells: those that `mark_same` returned.
        experiments: one for each cell.
    """
    choices = {cell.id: _read_choices(cell) for cell in cells}
    used: dict[str, frozenset[str]] = {}
    for cell, experiment in zip(cells, experiments, strict=True):
        used[cell.id] = experiment.groups if experiment else frozenset()
    equal: dict[str, list[str]] = {}
    for cell in cells:
        equal.setdefault(cell.same_as or cell.id, []).append(cell.id)
    concerned: dict[tuple[str, ...], list[str]] = {}  # factors that vary among equal cells -> cells
    for ids in equal.values():
        if len(ids) > 1:
            factors = _find_factors([choices[each] for each in ids])
            concerned.setdefault(tuple(factors), []).extend(ids)
    return [_explain(factors, ids, used) for factors, ids in concerned.items()]


def _read_choices(cell: Cell) -> dict[str, str]:
    """Return the overrides of a cell, key -> value."""
    pairs = [override.lstrip("+").partition("=") for override in cell.overrides]
    return {key: value for key, _, value in pairs}


def _find_factors(choices: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys that have several values."""
    keys = dict.fromkeys(key for each in choices for key in each)
    return [key for key in keys if len({each.get(key) for each in choices}) > 1]


def _explain(factors: Sequence[str], ids: Sequence[str], used: Mapping[str, frozenset[str]]) -> str:
    places = [factor.partition("@")[2] or factor for factor in factors]
    subject = f"{' and '.join(places)} made no difference to {len(ids)} cells"
    groups = {place.partition(".")[0] for place in places}
    if not groups <= set(GROUPS) or any(groups & used[each] for each in ids):
        return f"{subject}: the stages are the same with each value"
    pronoun = "it" if len(factors) == 1 else "them"
    return f"{subject}: no stage of theirs uses {pronoun}"


def find_missing_metric(metrics: Sequence[str], experiments: Sequence[Experiment | None]) -> str:
    """Return why some cell cannot have a measure of `sweep.metric`; empty where all can."""
    known = [each for each in experiments if each]
    listed = [each.measures for each in known if each.measures is not None]
    for metric in metrics:
        gaps = [each.gaps[metric] for each in known if metric in each.gaps]
        if gaps:
            return f"sweep.metric={metric}: {gaps[0]}"
        without = sum(metric not in measures for measures in listed)
        if not without:
            continue
        in_cells = ""
        if without != len(experiments):
            in_cells = f" in {without} of {len(experiments)} cells"
        common = dict.fromkeys(listed[0])
        names = [name for name in common if all(name in measures for measures in listed)]
        offered = ", ".join(names) or "none"
        return f"sweep.metric={metric}: no metric gives it{in_cells}. There are {offered}"
    return ""
