"""Builds the stages of a configuration, and injects into each stage the other stages that its
constructor asks for.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError, NotReady
from convrag.api.groups import OPTION_KEY
from convrag.api.records import Report, TurnRecord
from convrag.api.stage import Stage
from convrag.api.stages import Dataset
from convrag.config.command import Command
from convrag.config.messages import explained
from convrag.config.secret_checks import keep_references
from convrag.config.unused import find_unused
from convrag.config.variants import option_node
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.parameters import Parameter, Use
from convrag.store.fingerprint import compute_fingerprint
from convrag.store.store import get_store
from convrag.turn.defects import check_result, check_type, explain_error, set_origin
from convrag.turn.stage_pool import describe_stage, pool

log = logging.getLogger(__name__)


class Wiring:
    """The stages of one configuration. Equal stages are shared by all configurations of this
    process.

    Args:
        config: the configuration (see convrag.config.compose).
        command: by which it was composed; by default the one that Hydra is carrying out.
    """

    def __init__(self, config: DictConfig, command: Command | None = None) -> None:
        with explained(plugins.load().registry):
            plain = OmegaConf.to_container(config, resolve=True)
        assert isinstance(plain, dict)
        self.command = command or Command.read()
        self.config: dict[str, Any] = {str(key): value for key, value in plain.items()}
        self.logged_config: dict[str, Any] = keep_references(config, self.config)
        """The configuration for observers, who write it down: references to the environment are not
        resolved.
        """
        self.registry = plugins.load().registry
        self.store = get_store(**self.config["store"], open_database=plugins.open_database)
        self.stages: dict[str, Stage] = {}
        """Place ("rewriter", "rewriter.embedder") -> stage, in the order of building: injected
        stages come first.
        """
        self._options: dict[str, str] = {}
        self._descriptions: dict[str, dict[str, Any]] = {}
        self._injected: dict[str, list[str]] = {}
        self._building: list[str] = []

    def provide_dataset(self, dataset: Dataset) -> None:
        """Use this data set in place of the configured one. Call it before any stage is built.

        Raises:
            ConfigError: the command chooses a data set, too.
        """
        if self.command.sets("dataset"):
            raise ConfigError(
                "dataset: the passages are given as objects, so no data set can be chosen"
            )
        option = Option(
            "dataset", "passages", type(dataset), plugins.FIRST_PARTY, plugins.FIRST_PARTY
        )
        dataset.fingerprint = compute_fingerprint(dataset, option.name, {})
        set_origin(dataset, "dataset", option)
        self.stages["dataset"] = dataset
        self._options["dataset"] = option.name
        self._descriptions["dataset"] = {
            OPTION_KEY: option.name,
            "contents": dataset.content_hash(),
        }

    def get(self, group: str) -> Any:
        """Return the run's stage of a group, an instance of `GROUPS[group]`; it is built at the
        first call.

        Raises:
            ConfigError: no option is chosen, or the stage cannot be built.
            MissingExtra: a library that it requires is not installed.
        """
        if group not in self.stages:
            if not isinstance(node := self.config.get(group), Mapping):
                options = ", ".join(self.registry.options(group))
                raise ConfigError(f"{group}: no {group} is chosen; {group}=... ({options})")
            self._build(node, group, group)
        return self.stages[group]

    def get_all(self, group: str) -> dict[str, Any]:
        """Return the stages of a group that allows several options, by name. Raises ConfigError."""
        chosen = self.config.get(group) or {}
        if unplaced := [name for name, node in chosen.items() if not isinstance(node, Mapping)]:
            raise ConfigError(
                f"{group}.{unplaced[0]}: a YAML file of {group} begins with '# @package {group}.<name>'"
            )
        places = {name: f"{group}.{name}" for name in chosen}
        return {
            name: self.stages.get(at) or self._build(chosen[name], group, at)
            for name, at in places.items()
        }

    def check(self) -> None:
        """Open the store, check every built stage, and say which typed choices none of them uses.

        Raises:
            NotReady: with all problems.
            ConfigError: the store cannot be opened.
        """
        self.store.open()
        problems = [
            (place, problem)
            for place, _ in self._list_distinct()
            for problem in self.find_problems(place)
        ]
        if problems:
            first = {
                problem: place for place, problem in reversed(problems)
            }  # the same message appears once
            raise NotReady(
                [
                    f"{self.describe_choice(place)}: {problem}"
                    for problem, place in reversed(first.items())
                ]
            )
        if not self.command.in_grid:
            used = {place.partition(".")[0] for place in self.stages}
            for sentence in find_unused(self.config, self.command, used, self.registry):
                log.warning("%s", sentence)

    def find_problems(self, place: str) -> list[str]:
        """Return messages about the stage at a place, from its own check; a check that fails is a
        problem, too.
        """
        stage = self.stages[place]
        try:
            return [
                each.replace("{place}", place)
                for each in check_result(stage, "check", stage.check(), [str])
            ]
        except Exception as error:  # a plugin's own, which is told with the other problems
            return [f"check failed: {explain_error(error, stage)}"]

    def prepare(
        self,
        watch: Callable[[str], AbstractContextManager[None]] | None = None,
        *,
        for_new_questions: bool = False,
    ) -> None:
        """Prepare every built stage: load models, build indexes, and import libraries that the
        turns will need.

        Args:
            watch: a context that is entered while a stage is prepared, with what is done:
                "Preparing embedder=lsa".
            for_new_questions: as a server is asked, that should not keep the first one waiting.
        """
        for place, stage in self._list_distinct():
            with watch(f"Preparing {self.describe_choice(place)}") if watch else nullcontext():
                pool.prepare(stage, for_new_questions=for_new_questions)

    def collect_configuration(self, groups: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return place -> option and the parameters that bear on results, of these stages and those
        injected into them.

        It does not depend on source code and versions, as fingerprints do, and holds no secrets.
        """
        found: dict[str, dict[str, Any]] = {}
        waiting = list(groups)
        while waiting:
            place = waiting.pop(0)
            if place not in found:
                found[place] = self._descriptions[place]
                waiting += self._injected.get(place, [])
        return found

    def collect_fingerprints(self) -> dict[str, str]:
        """Return place -> fingerprint of every built stage."""
        return {place: stage.fingerprint for place, stage in self.stages.items()}

    def collect_notes(self) -> list[str]:
        """Return the notes of the built stages for readers of the summary (see `Stage.note`)."""
        notes = [(place, self._ask(stage, "note", str)) for place, stage in self._list_distinct()]
        return [f"{self.describe_choice(place)}: {note}" for place, note in notes if note]

    def describe_choice(self, place: str) -> str:
        """Return the place of a built stage with its option: "rewriter=mmr"."""
        return f"{place}={self._options[place]}"

    def collect_prompts(self) -> dict[str, str]:
        """Return place and task ("rewriter.rewrite") -> template, for each prompt of the built
        stages.
        """
        return {
            f"{place}.{prompt.task}": prompt.source
            for place, stage in self._list_distinct()
            for prompt in stage.prompt_templates
        }

    def collect_reports(self, records: Iterable[TurnRecord]) -> list[Report]:
        """Return the reports of the built stages on a run; a stage that fails to report causes a
        warning.
        """
        reports = [
            self._ask(stage, "report", Report, records) for _, stage in self._list_distinct()
        ]
        return [report for report in reports if report is not None]

    def _ask(self, stage: Stage, method: str, wanted: type, *arguments: Any) -> Any:
        """Return what a stage has to say of a run; where it fails, warn, and return None: the run
        goes on.
        """
        try:
            said = getattr(stage, method)(*arguments)
            return None if said is None else check_type(stage, method, said, wanted)
        except Exception as error:  # a plugin's own
            log.warning("%s failed: %s", method, explain_error(error, stage), exc_info=error)
            return None

    def _list_distinct(self) -> list[tuple[str, Stage]]:
        """List the built stages, each with the first of its places."""
        first = {id(stage): place for place, stage in reversed(self.stages.items())}
        return [(place, stage) for place, stage in self.stages.items() if first[id(stage)] == place]

    def _build(self, node: Mapping[str, Any], group: str, place: str) -> Stage:
        """Build the stage that a configuration node describes, after the stages that are injected
        into it.
        """
        if place in self._building:
            raise ConfigError(
                f"these stages need each other: {' -> '.join([*self._building, place])}"
            )
        option = self.registry.get(group, str(node.get(OPTION_KEY, "")))
        values = option.values(node, place, self._name_typed(place, option))
        self._building.append(place)
        try:
            injected: dict[str, Stage | None] = {}
            for parameter in (each for each in option.parameters.values() if each.group):
                used = pool.uses_stage(option, parameter.name, {**values, **injected}, place)
                injected[parameter.name] = self._inject(parameter, node, place) if used else None
        finally:
            self._building.pop()
        written: Any = self.logged_config
        for name in place.split("."):
            written = written.get(name) if isinstance(written, Mapping) else None
        self._descriptions[place] = describe_stage(option, values, written)
        self._options[place] = self._name_typed(place, option)
        self.stages[place] = pool.get(option, values, injected, self.store, place)
        return self.stages[place]

    def _name_typed(self, place: str, option: Option) -> str:
        """Return the name by which the option at a place was chosen: "claude", where that is
        litellm with a model.
        """
        typed = self.command.names.get(place, "")
        return typed if typed and typed not in self.registry.options(option.group) else option.name

    def _inject(self, parameter: Parameter, node: Mapping[str, Any], place: str) -> Stage | None:
        """Return the stage for a parameter: the one that the configuration gives it, its default,
        or the run's.

        An optional one that the configuration sets to null is None, whatever its default.
        """
        group, inner, given = parameter.group, f"{place}.{parameter.name}", node.get(parameter.name)
        if (
            given is None
            and parameter.used_option
            and parameter.optional
            and parameter.name in node
        ):
            return None
        if given is None and not isinstance(parameter.default, Use):
            if parameter.default is None and parameter.name != "dataset":  # given as the store is
                return None
            self._injected.setdefault(place, []).append(group)
            stage: Stage = self.get(group)
            return stage
        self._injected.setdefault(place, []).append(inner)
        if given is None:
            given = {OPTION_KEY: parameter.default.option}
        return self._build(
            given if isinstance(given, Mapping) else option_node(group, str(given)), group, inner
        )
