"""The models of a server: named configurations, whose equal stages are shared."""

import logging
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.hydra_config import HydraConfig

from convrag import (
    LLM,
    ConfigError,
    Conversations,
    ConvragError,
    Dataset,
    Document,
    Pipeline,
    PromptTemplate,
    TurnRecord,
)
from convrag.sdk.llm_rewriter import suggest_follow_ups
from convrag.sdk.secrets import redact
from convrag.sdk.tasks.configuration import compose_with, settings_of
from convrag.sdk.tasks.options import variants
from convrag.sdk.tasks.turns import Wiring
from convrag_web.server.errors import RequestError

log = logging.getLogger("convrag.serve")

DEFAULT_NAME = "convrag"
"""The only model, where none is named: the command's own configuration."""

_EXAMPLES = 3
"""How many questions of the data set are offered to begin with."""


class ModelOptions(NamedTuple):
    """What holds for all models: the corpus that questions are about where a request names none, and how many
    follow-up questions are suggested.
    """

    domain: str | None = None
    suggestions: int = 3


class ServedModel:
    """A model: a pipeline with its name.

    Args:
        name: of the model.
        overrides: that make it differ from the command's own configuration.
        wiring: of its stages.
        conversations: keeps the conversations of all models.
        options: of all models.

    Raises:
        ConfigError: the model has no such domain, or a stage cannot be built.
    """

    def __init__(
        self, name: str, overrides: Sequence[str], wiring: Wiring, pipeline: Pipeline, options: ModelOptions
    ) -> None:
        self.name = name
        self.overrides = tuple(overrides)
        self.pipeline = pipeline
        self._llm: LLM = wiring.get("llm")
        self._llm_name = wiring.describe_choice("llm").partition("=")[2]
        self._dataset: Dataset = wiring.get("dataset")
        self._options = options
        self._template = PromptTemplate("suggest", package="convrag.sdk")
        if options.domain is not None and options.domain not in pipeline.domains:
            raise ConfigError(f"task.domain={options.domain}: the data set has {', '.join(pipeline.domains)}")

    def choose_domain(self, wanted: str | None) -> str:
        """The corpus that a question is about. Raises RequestError where it is unknown, or has to be named."""
        domains = self.pipeline.domains
        chosen = wanted or self._options.domain or (domains[0] if len(domains) == 1 else None)
        if chosen in domains:
            return chosen
        offer = f"model {self.name!r} has {', '.join(domains)}"
        if chosen is None:
            raise RequestError(400, f"domain: name a corpus; {offer}", param="domain")
        raise RequestError(404, f"domain: {offer}, not {chosen}", param="domain", code="domain_not_found")

    def describe(self) -> dict[str, Any]:
        """What a list of models says of it."""
        return {
            "id": self.name,
            "overrides": [override for override in self.overrides if not override.startswith("hydra.")],
            "domains": list(self.pipeline.domains),
            "llm": self._llm_name,
            "examples": self._examples,
        }

    @cached_property
    def _examples(self) -> list[str]:
        """The first questions of some conversations of the data set; none where it cannot be read."""
        try:
            first = islice(self._dataset.conversations(), _EXAMPLES)
            return [conversation.turns[0].question for conversation in first if conversation.turns]
        except Exception as error:  # of any plugin: a corpus alone has no questions
            log.info("model %s has no examples: %s", self.name, redact(str(error)))
            return []

    def find_document(self, domain: str, document_id: str) -> Document:
        """Return a document of the data set. Raises RequestError where it is there no longer."""
        found = self._dataset.document(domain, document_id) if domain in self._dataset.domains() else None
        if found is None:
            raise RequestError(404, "the document is no longer in the data set", param="passage", code="no_document")
        return found

    def suggest(self, record: TurnRecord) -> list[str]:
        """Suggest questions to ask after a turn; none where the llm fails, as llm=extractive does."""
        try:
            return suggest_follow_ups(self._llm, self._template, record, self._options.suggestions)
        except Exception as error:  # of any plugin: the conversation goes on without
            log.info("model %s suggests no questions: %s", self.name, redact(str(error)))
            return []


class ServedModels(dict[str, ServedModel]):
    """The models by name, in the order in which they were named; the first is the default."""

    def find(self, name: str | None) -> ServedModel:
        """Return the model of a name, the first one for None. Raises RequestError."""
        chosen = next(iter(self)) if name is None else name
        if chosen not in self:
            message = f"there is no model {name!r}; GET /v1/models lists them"
            raise RequestError(404, message, param="model", code="model_not_found")
        return self[chosen]


def build_models(
    models: Mapping[str, str | list[str]] | Path | None, conversations: Conversations, options: ModelOptions
) -> tuple[ServedModels, list[Wiring]]:
    """Build the models that are named, and check their stages. Their wirings are still to be prepared.

    Args:
        models: as the user names them, see `model_overrides`; None for the command's own configuration alone.
        conversations: keeps the conversations of all.
        options: of all.

    Raises:
        ConvragError: a model is not valid, or not ready; the message names it.
    """
    named = read_model_overrides({DEFAULT_NAME: []} if models is None else models)
    built, wirings = [], []
    for name, overrides in named.items():
        try:
            config, command = compose_with(*overrides)
            wiring = Wiring(config, command)
            pipeline = Pipeline.for_conversations(wiring, settings_of(config), conversations, name)
            built.append(ServedModel(name, overrides, wiring, pipeline, options))
            wiring.check()
        except ConvragError as error:
            if models is None:
                raise
            raise ConfigError(f"task.models: {name}: {error}") from error
        wirings.append(wiring)
    return ServedModels((model.name, model) for model in built), wirings


def read_model_overrides(models: Mapping[str, str | list[str]] | Path) -> dict[str, list[str]]:
    """Return name -> overrides behind the command's own. Raises ConfigError for what names no model."""
    if isinstance(models, Path):
        return _read_folder(models)
    if not models:
        raise ConfigError("task.models={}: name a model, as in task.models='{mmr: \"rewriter=mmr\"}'")
    named = {}
    for name, overrides in models.items():
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
    if taken := set(names) & set(variants(folder.name)):
        raise ConfigError(f"task.models={folder}: {min(taken)} is also one of ours; rename the file, or the folder")
    known = list(HydraConfig.get().searchpath) if HydraConfig.initialized() else []
    places = ", ".join(
        "'" + place.replace("\\", "\\\\").replace("'", "\\'") + "'" for place in [*known, f"file://{folder.parent}"]
    )
    return {name: [f"hydra.searchpath=[{places}]", f"+{folder.name}={name}"] for name in names}
