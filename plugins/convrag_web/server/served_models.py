"""The models of a server: named configurations, whose equal stages are shared.

task.models='{mmr: "rewriter=mmr llm=claude", dhrag: "+seed=dhrag"}'     overrides behind the command's own
task.models=mine/seed                                                    a preset for each YAML file of a folder
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig

from convrag import LLM, ConfigError, Conversations, ConvragError, Pipeline, Question, TurnRecord
from convrag.config.compose import compose_with, settings_of
from convrag.config.variants import variants
from convrag.turn.turn import TurnOptions
from convrag.turn.wiring import Wiring
from convrag_web.server.errors import RequestError
from convrag_web.server.turn_runner import Emit

DEFAULT_NAME = "convrag"
"""The only model, where none is named: the command's own configuration."""

ModelOverrides = Mapping[str, Sequence[str]]
"""Name of a model -> its overrides behind the command's own."""


class ServedModel:
    """A model: a pipeline with its name.

    Args:
        name: of the model.
        overrides: that make it differ from the command's own configuration.
        wiring: of its stages.
        conversations: keeps the conversations of all models.
        domain: the corpus that questions are about where a request names none; None where the model has just one.

    Raises:
        UnknownName: the domain is none of the model's.
    """

    def __init__(
        self,
        name: str,
        overrides: Sequence[str],
        wiring: Wiring,
        pipeline: Pipeline,
        domain: str | None,
    ) -> None:
        self.name = name
        self.overrides = tuple(overrides)
        self.pipeline = pipeline
        self.llm: LLM = wiring.get("llm")
        self.llm_name = wiring.describe_choice("llm").partition("=")[2]
        self._domain = domain
        if domain is not None and domain not in pipeline.domains:
            raise ConfigError(f"task.domain={domain}: this model has {', '.join(pipeline.domains)}")

    def choose_domain(self, wanted: str | None) -> str:
        """The corpus that a question is about. Raises RequestError where it is unknown, or has to be named."""
        domains = self.pipeline.domains
        chosen = wanted or self._domain or (domains[0] if len(domains) == 1 else None)
        if chosen in domains:
            return chosen
        problem = f"domain: {chosen!r} does not exist" if chosen else "domain: name a corpus"
        raise RequestError(400, f"{problem}; model {self.name!r} has {', '.join(domains)}", param="domain")

    def answer(self, question: Question, emit: Emit) -> TurnRecord:
        """Answer a question with the history that it has. Raises RunStopped."""
        return self.pipeline.answer(question, TurnOptions(listener=emit))


class ServedModels(Mapping[str, ServedModel]):
    """The models by name, in the order in which they were named; the first is the default."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._models = {model.name: model for model in models}

    def __getitem__(self, name: str) -> ServedModel:
        return self._models[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    def find(self, name: str) -> ServedModel:
        """Return the model of a name. Raises RequestError."""
        if name not in self._models:
            message = f"there is no model {name!r}; GET /v1/models lists them"
            raise RequestError(404, message, param="model", code="model_not_found")
        return self._models[name]


def build_models(
    models: Mapping[str, str | list[str]] | Path | None, conversations: Conversations, domain: str | None
) -> tuple[ServedModels, list[Wiring]]:
    """Build the models that are named, and check their stages. Their wirings are still to be prepared.

    Args:
        models: as the user names them, see the module; None for the command's own configuration alone.
        conversations: keeps the conversations of all.
        domain: the corpus that questions are about where a request names none.

    Raises:
        ConvragError: a model is not valid, or not ready; the message names it.
    """
    named = _read_folder(models) if isinstance(models, Path) else _read_mapping(models or {DEFAULT_NAME: []})
    built, wirings = [], []
    for name, overrides in named.items():
        try:
            wiring, pipeline = _build(overrides, conversations)
            built.append(ServedModel(name, overrides, wiring, pipeline, domain))
            wiring.check()
        except ConvragError as error:
            if models is None:
                raise
            raise ConfigError(f"task.models: {name}: {error}") from error
        wirings.append(wiring)
    return ServedModels(built), wirings


def _build(overrides: Sequence[str], conversations: Conversations) -> tuple[Wiring, Pipeline]:
    config, command = compose_with(*overrides)
    wiring = Wiring(config, command)
    return wiring, Pipeline.from_wiring(wiring, settings_of(config), conversations)


def _read_mapping(models: Mapping[str, str | list[str]]) -> dict[str, list[str]]:
    """Divide texts of overrides as a shell does."""
    if not models:
        raise ConfigError("task.models={}: name a model, as in task.models='{mmr: \"rewriter=mmr\"}'")
    named = {}
    for name, overrides in models.items():
        if not name.strip() or not name.isprintable():
            raise ConfigError(f"task.models: {name!r} is no name for a model")
        try:
            named[name] = shlex.split(overrides) if isinstance(overrides, str) else list(overrides)
        except ValueError as error:
            raise ConfigError(f"task.models: {name}: {overrides}: {error}") from error
    return named


def _read_folder(folder: Path) -> dict[str, list[str]]:
    """The presets of a folder, as Hydra finds them: its name is the group, and the folder above it is searched."""
    folder = folder.absolute()
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if not names:
        raise ConfigError(f"task.models={folder}: there is no folder with YAML files, one for each model")
    if not folder.name.isidentifier():
        raise ConfigError(f"task.models={folder}: give the folder a name of letters, digits and underscores")
    if taken := set(names) & set(variants(folder.name)):
        raise ConfigError(f"task.models={folder}: {min(taken)} is also one of ours; rename the file, or the folder")
    known = list(HydraConfig.get().searchpath) if HydraConfig.initialized() else []
    places = ", ".join(
        "'" + place.replace("\\", "\\\\").replace("'", "\\'") + "'" for place in [*known, f"file://{folder.parent}"]
    )
    return {name: [f"hydra.searchpath=[{places}]", f"+{folder.name}={name}"] for name in names}
