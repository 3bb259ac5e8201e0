"""A configuration becomes stages: chosen by group, injected by annotation, fingerprinted, tied to the store."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError, NotReady
from convrag.api.groups import OPTION_KEY
from convrag.api.records import Report, TurnRecord
from convrag.api.stage import Stage
from convrag.config.variants import option_node
from convrag.registry import plugins
from convrag.registry.extras import missing_extra
from convrag.registry.parameters import Parameter, Use
from convrag.store.store import Store
from convrag.turn.stage_pool import pool

log = logging.getLogger(__name__)


class Wiring:
    """Builds the stages of one configuration; equal stages are shared by all configurations of this process.

    Args:
        config: as composed (see convrag.config.compose).
    """

    def __init__(self, config: DictConfig) -> None:
        plain = OmegaConf.to_container(config, resolve=True)
        assert isinstance(plain, dict)
        self.config: dict[str, Any] = {str(key): value for key, value in plain.items()}
        self.registry = plugins.load().registry
        self.store = Store(self.config["store"]["path"])
        self.stages: dict[str, Stage] = {}
        """Everything built so far by its place ("rewriter", "rewriter.embedder"), what is injected first."""
        self._options: dict[str, str] = {}
        self._building: list[str] = []

    def get(self, group: str) -> Any:
        """The run's stage of a group (an instance of `GROUPS[group]`), built at the first call.

        Raises:
            ConfigError: none is chosen, or it cannot be built.
        """
        if group not in self.stages:
            if not isinstance(node := self.config.get(group), Mapping):
                raise ConfigError(f"no {group} is chosen: {group}=... ({', '.join(self.registry.options(group))})")
            self._build(node, group, group)
        return self.stages[group]

    def get_all(self, group: str) -> dict[str, Any]:
        """All chosen options of a group that allows several, by name."""
        chosen = self.config.get(group) or {}
        if unplaced := [name for name, node in chosen.items() if not isinstance(node, Mapping)]:
            raise ConfigError(
                f"{group}.{unplaced[0]} is no option: a YAML file in the group {group} begins with the line "
                f"'# @package {group}.<name>', since several may be chosen"
            )
        places = {name: f"{group}.{name}" for name in chosen}
        return {
            name: self.stages.get(place) or self._build(chosen[name], group, place) for name, place in places.items()
        }

    def check(self) -> None:
        """Ask every built stage what is missing, and open the store. Raises NotReady with all of it; ConfigError."""
        self.store.open()
        found = [(place, problem) for place, _ in self._distinct() for problem in self.problems(place)]
        if found:
            first = {problem: place for place, problem in reversed(found)}  # what two stages miss is said once
            raise NotReady([f"{self.chosen(place)}: {problem}" for problem, place in reversed(first.items())])

    def problems(self, place: str) -> list[str]:
        """What is missing for the stage that was built at a place: libraries, or else what its own check finds."""
        stage = self.stages[place]
        absent = missing_extra(stage.requires, "it")
        return [str(absent)] if absent else list(stage.check())

    def prepare(self) -> None:
        """Let every built stage do what would delay the first turn."""
        for _, stage in self._distinct():
            pool.prepare(stage)

    def fingerprints(self) -> dict[str, str]:
        """Place -> fingerprint of every built stage."""
        return {place: stage.fingerprint for place, stage in self.stages.items()}

    def notes(self) -> list[str]:
        """What the built stages want the reader of a summary to know."""
        said = [(place, stage.note()) for place, stage in self._distinct()]
        return [f"{self.chosen(place)}: {note}" for place, note in said if note]

    def chosen(self, place: str) -> str:
        """A place of a built stage with its option: "rewriter=mmr"."""
        return f"{place}={self._options[place]}"

    def prompts(self) -> dict[str, str]:
        """Place and task ("rewriter.rewrite") -> the template of each prompt that a built stage holds."""
        return {
            f"{place}.{prompt.task}": prompt.source
            for place, stage in self._distinct()
            for prompt in stage.prompt_templates
        }

    def reports(self, records: Iterable[TurnRecord]) -> list[Report]:
        """What the built stages have to say about a run's records; one that fails costs a warning."""
        found = []
        for place, stage in self._distinct():
            try:
                report = stage.report(records)
            except Exception as error:
                log.warning(
                    "%s failed to report: %s: %s", self.chosen(place), type(error).__name__, error, exc_info=error
                )
                continue
            if report is not None:
                found.append(report)
        return found

    def _distinct(self) -> list[tuple[str, Stage]]:
        seen: dict[int, tuple[str, Stage]] = {}
        for place, stage in self.stages.items():
            seen.setdefault(id(stage), (place, stage))
        return list(seen.values())

    def _build(self, node: Mapping[str, Any], group: str, place: str) -> Stage:
        if place in self._building:
            raise ConfigError(f"these stages need each other: {' -> '.join([*self._building, place])}")
        option = self.registry.get(group, str(node.get(OPTION_KEY, "")))
        values = option.values(node, place)
        self._building.append(place)
        try:
            injected = {
                parameter.name: self._inject(parameter, node.get(parameter.name), place)
                for parameter in option.parameters.values()
                if parameter.group
            }
        finally:
            self._building.pop()
        self._options[place] = option.name
        self.stages[place] = pool.get(option, values, injected, self.store, place)
        return self.stages[place]

    def _inject(self, parameter: Parameter, given: Any, place: str) -> Stage | None:
        group, inner = parameter.group, f"{place}.{parameter.name}"
        if isinstance(given, Mapping):
            return self._build(given, group, inner)
        if isinstance(given, str):
            return self._build(option_node(group, given), group, inner)
        if given is not None:
            choices = ", ".join(self.registry.options(group))
            raise ConfigError(f"{inner}={given}: this is no option of {group}; choose from: {choices}")
        if isinstance(parameter.default, Use):
            return self._build({OPTION_KEY: parameter.default.option}, group, inner)
        return None if parameter.default is None else self.get(group)
