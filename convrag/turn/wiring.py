"""Builds the stages of a configuration, each after the stages that its constructor asks for."""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError, NotReady
from convrag.api.groups import OPTION_KEY
from convrag.api.records import Report, TurnRecord
from convrag.api.stage import Stage
from convrag.api.stages import Dataset
from convrag.config.checks import read_settings
from convrag.config.command import Command
from convrag.config.messages import explained
from convrag.config.secret_checks import keep_references
from convrag.config.unused import find_unused
from convrag.config.variants import chooses_stage, option_node
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.parameters import Parameter, Use
from convrag.registry.values import check_value
from convrag.store.fingerprint import compute_fingerprint
from convrag.store.store import get_store
from convrag.turn.defects import check_result, check_type, explain_error, set_origin
from convrag.turn.stage_pool import describe_stage, pool

log = logging.getLogger(__name__)


class Wiring:
    """The stages of one configuration; all configurations of this process share equal stages.

    Args:
        config: the configuration (see convrag.config.compose).
        command: the command that composed it; by default the one that Hydra is carrying out.
    """

    def __init__(self, config: DictConfig, command: Command | None = None) -> None:
        with explained(plugins.load().registry):
            plain = OmegaConf.to_container(config, resolve=True)
        assert isinstance(plain, dict)
        self.command = command or Command.read()
        self.config: dict[str, Any] = {str(key): value for key, value in plain.items()}
        for name, value in asdict(read_settings(config)).items():
            if name in self.config:
                self.config[name] = value  # a number, also where a variable has it as text
        self.logged_config: dict[str, Any] = keep_references(config, self.config)
        """The configuration for observers, which log it: references to the environment stay."""
        self.registry = plugins.load().registry
        self.store = get_store(**self.config["store"], open_database=plugins.open_database)
        self.stages: dict[str, Stage] = {}
        """Place ("rewriter", "rewriter.embedder") -> stage; injected stages come first."""
        self._options: dict[str, str] = {}
        """Place -> the name by which the option was chosen."""
        self._descriptions: dict[str, dict[str, Any]] = {}
        """Place -> option and parameters, as `describe_stage` returns them."""
        self._injected: dict[str, list[str]] = {}
        """Place -> the places of the stages that are injected there."""
        self._building: list[str] = []
        """The places whose stages are being built, the outermost first."""

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
        """Return the run's stage of a group, an instance of `GROUPS[group]`.

        It is built at the first call.

        Raises:
            ConfigError: no option is chosen, or the stage cannot be built.
            MissingExtra: a library that it requires is not installed.
        """
        if group not in self.stages:
            node = self.config.get(group)
            if not isinstance(node, Mapping):
                options = ", ".join(self.registry.options(group))
                raise ConfigError(f"{group}: no {group} is chosen; {group}=... ({options})")
            self._build(node, group, group)
        return self.stages[group]

    def get_all(self, group: str) -> dict[str, Any]:
        """Return the stages of a group that allows several options, by name. Raises ConfigError."""
        stages: dict[str, Any] = {}
        for name, node in (self.config.get(group) or {}).items():
            if not isinstance(node, Mapping):
                raise ConfigError(
                    f"{group}.{name}: a YAML file of {group} begins with "
                    f"'# @package {group}.<name>'"
                )
            place = f"{group}.{name}"
            stages[name] = self.stages.get(place) or self._build(node, group, place)
        return stages

    def check(self) -> None:
        """Open the store, check every built stage, and warn of choices that none of them uses.

        Raises:
            NotReady: with all problems.
            ConfigError: the store cannot be opened.
        """
        self.store.open()
        messages: dict[str, str] = {}
        for place, _ in self._list_distinct():
            for problem in self.find_problems(place):
                # Several stages may have the same problem, which is reported once
                messages.setdefault(problem, f"{self.describe_choice(place)}: {problem}")
        if messages:
            raise NotReady(list(messages.values()))
        if not self.command.in_grid:
            used = {place.partition(".")[0] for place in self.stages}
            for sentence in find_unused(self.config, self.command, used, self.registry):
                log.warning("%s", sentence)

    def find_problems(self, place: str) -> list[str]:
        """Return the problems of the stage at a place, from its own check."""
        stage = self.stages[place]
        try:
            problems = check_result(stage, "check", stage.check(), [str])
        except Exception as error:  # a plugin's own, which is reported with the other problems
            return [f"check failed: {explain_error(error, stage)}"]
        return [problem.replace("{place}", place) for problem in problems]

    def prepare(
        self,
        watch: Callable[[str], AbstractContextManager[None]] | None = None,
        *,
        for_new_questions: bool = False,
    ) -> None:
        """Prepare every built stage: load models, build indexes, and import libraries.

        Args:
            watch: returns a context that is entered while a stage is prepared; its argument says
                what is done: "Preparing embedder=lsa".
            for_new_questions: whether new questions will come, as in a server: the first one should
                not wait for the libraries.
        """
        for place, stage in self._list_distinct():
            with watch(f"Preparing {self.describe_choice(place)}") if watch else nullcontext():
                pool.prepare(stage, for_new_questions=for_new_questions)

    def collect_configuration(self, groups: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return place -> option and parameters that bear on results.

        It has the stages of these groups, and those that are injected into them. It does not depend
        on source code and versions, as fingerprints do, and contains no secrets.
        """
        found: dict[str, dict[str, Any]] = {}
        queue = list(groups)
        while queue:
            place = queue.pop(0)
            if place not in found:
                found[place] = self._descriptions[place]
                queue += self._injected.get(place, [])
        return found

    def collect_fingerprints(self) -> dict[str, str]:
        """Return place -> fingerprint of every built stage."""
        return {place: stage.fingerprint for place, stage in self.stages.items()}

    def collect_notes(self) -> list[str]:
        """Return the notes of the built stages for readers of the summary (see `Stage.note`)."""
        notes: list[str] = []
        for place, stage in self._list_distinct():
            if note := self._ask(stage, "note", str):
                notes.append(f"{self.describe_choice(place)}: {note}")
        return notes

    def describe_choice(self, place: str) -> str:
        """Return the place of a built stage with its option: "rewriter=mmr"."""
        return f"{place}={self._options[place]}"

    def collect_prompts(self) -> dict[str, str]:
        """Return place and task ("rewriter.rewrite") -> template, for the built stages."""
        return {
            f"{place}.{prompt.task}": prompt.source
            for place, stage in self._list_distinct()
            for prompt in stage.prompt_templates
        }

    def collect_reports(self, records: Iterable[TurnRecord]) -> list[Report]:
        """Return the reports of the built stages on a run; one that fails causes a warning."""
        reports = [
            self._ask(stage, "report", Report, records) for _, stage in self._list_distinct()
        ]
        return [report for report in reports if report is not None]

    def _ask(self, stage: Stage, method: str, wanted: type, *arguments: Any) -> Any:
        """Return the result of a stage's method; if it fails, warn, and return None."""
        try:
            result = getattr(stage, method)(*arguments)
            return None if result is None else check_type(stage, method, result, wanted)
        except Exception as error:  # a plugin's own
            log.warning("%s failed: %s", method, explain_error(error, stage), exc_info=error)
            return None

    def _list_distinct(self) -> list[tuple[str, Stage]]:
        """List the built stages, each with the first of its places."""
        first = {id(stage): place for place, stage in reversed(self.stages.items())}
        return [(place, stage) for place, stage in self.stages.items() if first[id(stage)] == place]

    def _build(self, node: Mapping[str, Any], group: str, place: str) -> Stage:
        """Build the stage that a node describes, after the stages that are injected into it."""
        if place in self._building:
            circle = " -> ".join([*self._building, place])
            raise ConfigError(f"these stages need each other: {circle}")
        option = self.registry.get(group, str(node.get(OPTION_KEY, "")))
        name = self._get_chosen_name(place, option)
        values = {**option.values(node, place, name), **_read_plain_values(option, node, place)}
        self._building.append(place)
        try:
            injected = self._build_injected(option, values, node, place)
        finally:
            self._building.pop()
        self._descriptions[place] = describe_stage(option, values, self._find_logged_node(place))
        self._options[place] = name
        self.stages[place] = pool.get(option, values, injected, self.store, place)
        return self.stages[place]

    def _build_injected(
        self, option: Option, values: Mapping[str, Any], node: Mapping[str, Any], place: str
    ) -> dict[str, Stage | None]:
        """Build the stages for an option's parameters; one that is not used is None."""
        injected: dict[str, Stage | None] = {}
        for parameter in option.parameters.values():
            if parameter.group and parameter.name not in values:
                known = {**values, **injected}
                is_used = pool.uses_stage(option, parameter.name, known, place)
                stage = self._inject(parameter, node, place) if is_used else None
                injected[parameter.name] = stage
        return injected

    def _find_logged_node(self, place: str) -> Any:
        """Return the node of a place in the configuration for observers; None if it has none."""
        node: Any = self.logged_config
        for name in place.split("."):
            node = node.get(name) if isinstance(node, Mapping) else None
        return node

    def _get_chosen_name(self, place: str, option: Option) -> str:
        """Return the name by which an option was chosen: "claude" for litellm with a model."""
        chosen = self.command.names.get(place, "")
        if chosen and chosen not in self.registry.options(option.group):
            return chosen
        return option.name

    def _inject(self, parameter: Parameter, node: Mapping[str, Any], place: str) -> Stage | None:
        """Return the stage for a parameter.

        It is the one that the configuration gives to the parameter, else the parameter's default,
        else the run's. An optional one that the configuration sets to null is None.
        """
        group = parameter.group
        given = node.get(parameter.name)
        if given is None:
            is_null = parameter.name in node
            if is_null and parameter.used_option and parameter.optional:
                return None
            if not isinstance(parameter.default, Use):
                return self._inject_from_run(parameter, place)
            given = {OPTION_KEY: parameter.default.option}
        inner = f"{place}.{parameter.name}"
        self._injected.setdefault(place, []).append(inner)
        inner_node = given if isinstance(given, Mapping) else option_node(group, str(given))
        return self._build(inner_node, group, inner)

    def _inject_from_run(self, parameter: Parameter, place: str) -> Stage | None:
        """Return the run's stage of a parameter's group; None for one that defaults to None."""
        if parameter.default is None and parameter.name != "dataset":
            return None  # an optional data set is given in any case, as the store is
        self._injected.setdefault(place, []).append(parameter.group)
        stage: Stage = self.get(parameter.group)
        return stage


def _read_plain_values(option: Option, node: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the values that are given in place of stages. Raises ConfigError."""
    values = {}
    for name, parameter in option.parameters.items():
        value = node.get(name)
        if parameter.group and not chooses_stage(parameter, value):
            values[name] = check_value(value, parameter.for_value(), f"{place}.{name}")
    return values
