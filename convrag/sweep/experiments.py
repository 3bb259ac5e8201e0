"""Which cells of a grid are the same experiment, though their overrides differ, and which factor made no difference."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from omegaconf import DictConfig

from convrag.api.groups import GROUPS, OPTION_KEY
from convrag.api.records import Cell
from convrag.config.settings import read_metric_names
from convrag.store.fingerprint import digest
from convrag.turn.turn import Stages
from convrag.turn.wiring import Wiring

log = logging.getLogger(__name__)

_OPERATIONAL_SETTINGS = ("workers", "plugins", "store", "sweep")


@dataclass(frozen=True)
class Experiment:
    """What a cell really runs: `identity` stands for its results, `groups` are those of which it uses the stage.

    `measures` are all that its metrics may give; None where one of the metrics does not say. `gaps` says of those that
    `sweep.metric` names, and that its data set cannot be measured by, why not: measure -> reason. `empty` says that
    its data set has no conversations.
    """

    identity: str
    groups: frozenset[str]
    measures: tuple[str, ...] | None = None
    gaps: Mapping[str, str] = field(default_factory=dict)
    empty: bool = False


def read_experiment(config: DictConfig) -> Experiment | None:
    """The experiment of a cell's configuration. Its stages are built, and not prepared.

    Returns:
        None where nobody can say: the task is not task=run, or a stage cannot be built (running the cell says why).
    """
    try:
        wiring = Wiring(config)
        if wiring.config["task"][OPTION_KEY] != "run":
            return None
        for group in ("dataset", *Stages._fields):
            wiring.get(group)
        empty = not any(True for _ in wiring.get("dataset").conversations())
        metrics = wiring.get_all("metrics").values()
        listed = [metric.list_measures() for metric in metrics]
        wanted = read_metric_names(wiring.config["sweep"]["metric"])
        gaps = {name: metric.explain_gap() for metric in metrics for name in metric.list_measures() if name in wanted}
    except Exception:  # of a plugin, which may raise anything; running the cell says it to the user
        log.info("the experiment of a cell cannot be told", exc_info=True)
        return None
    settings = {
        key: value for key, value in wiring.config.items() if key not in GROUPS and key not in _OPERATIONAL_SETTINGS
    }
    groups = frozenset(place.partition(".")[0] for place in wiring.stages)
    measures = tuple(name for names in listed for name in names) if all(listed) else None
    identity = digest([wiring.collect_fingerprints(), settings])
    return Experiment(identity, groups, measures, {name: gap for name, gap in gaps.items() if gap}, empty)


def mark_same(cells: Sequence[Cell], experiments: Sequence[Experiment | None]) -> list[Cell]:
    """The cells, with `state` and `same_as` of those set that are the same experiment as an earlier one."""
    first: dict[str, str] = {}
    marked = []
    for cell, experiment in zip(cells, experiments, strict=True):
        original = first.setdefault(experiment.identity, cell.id) if experiment else cell.id
        marked.append(cell if original == cell.id else replace(cell, state="same", same_as=original))
    return marked


def explain_same(cells: Sequence[Cell], experiments: Sequence[Experiment | None]) -> list[str]:
    """A sentence for each factor that made no difference to some of the cells, and why.

    Args:
        cells: as `mark_same` gave them.
        experiments: one for each cell.
    """
    choices = {cell.id: _choices(cell) for cell in cells}
    used = {cell.id: each.groups if each else frozenset() for cell, each in zip(cells, experiments, strict=True)}
    equal: dict[str, list[str]] = {}
    for cell in cells:
        equal.setdefault(cell.same_as or cell.id, []).append(cell.id)
    concerned: dict[tuple[str, ...], list[str]] = {}  # the factors that vary among equal cells -> all such cells
    for ids in equal.values():
        if len(ids) > 1:
            concerned.setdefault(tuple(_varied([choices[id_] for id_ in ids])), []).extend(ids)
    return [_explain(factors, ids, choices, used) for factors, ids in concerned.items()]


def _choices(cell: Cell) -> dict[str, str]:
    return dict(override.lstrip("+").partition("=")[::2] for override in cell.overrides)


def _varied(choices: Sequence[Mapping[str, str]]) -> list[str]:
    keys = dict.fromkeys(key for each in choices for key in each)
    return [key for key in keys if len({each.get(key) for each in choices}) > 1]


def _explain(
    factors: Sequence[str],
    ids: Sequence[str],
    choices: Mapping[str, Mapping[str, str]],
    used: Mapping[str, frozenset[str]],
) -> str:
    places = [factor.partition("@")[2] or factor for factor in factors]  # clusterer@rewriter.clusterer
    what, it = " and ".join(places), "it" if len(factors) == 1 else "them"
    said = f"{what} made no difference to {len(ids)} cells"
    groups = {place.partition(".")[0] for place in places}
    if not groups <= set(GROUPS) or any(groups & used[id_] for id_ in ids):
        return f"{said}: the stages are the same with each value"
    if len(ids) == len(choices):
        return f"{said}: no stage of any cell uses {it}"
    others = [key for key in _varied(list(choices.values())) if key not in factors]
    levels = {key: dict.fromkeys(choices[id_].get(key) for id_ in ids) for key in others}
    told = {key: found for key, found in levels.items() if set(found) != {each.get(key) for each in choices.values()}}
    if {id_ for id_, each in choices.items() if all(each.get(key) in found for key, found in told.items())} != set(ids):
        return f"{said}: none of these uses {it}"
    who = " with ".join(" or ".join(f"{key}={value}" for value in found) for key, found in told.items())
    return f"{said}: {who} does not use {it}"
