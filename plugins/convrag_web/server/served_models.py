"""The models of a server: named configurations, whose equal stages are shared."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from convrag import ConfigError, Conversations, ConvragError, Pipeline
from convrag.sdk.tasks.configuration import compose_from_command, read_settings
from convrag.sdk.tasks.turns import Wiring
from convrag_web.server.errors import RequestError
from convrag_web.server.model_overrides import read_model_overrides
from convrag_web.server.served_model import ModelOptions, ServedModel

DEFAULT_NAME = "convrag"
"""The name of the command's own configuration, where no models are named."""


class ServedModels(dict[str, ServedModel]):
    """The models by name, in the order in which they were named; the first is the default."""

    @property
    def default_name(self) -> str:
        """The name of the first model."""
        return next(iter(self))

    @cached_property
    def plain(self) -> dict[str, ServedModel]:
        """The language models by the names under which they reply without a search."""
        plain = {}
        for name, model in self.items():
            plain_name = f"{name}-plain"
            if model.has_llm and plain_name not in self:
                plain[plain_name] = model
        return plain

    def choose(self, name: str | None) -> tuple[ServedModel, bool]:
        """Return the model with a name, and whether that name asks for replies without a search.

        Raises:
            RequestError: there is no such model.
        """
        if name in self.plain:
            return self.plain[name], True
        return self.find(name), False

    def find(self, name: str | None) -> ServedModel:
        """Return the model with a name, or the first one for None. Raises RequestError."""
        if name is None:
            name = self.default_name
        if name not in self:
            message = f"there is no model {name!r}; GET /v1/models lists them"
            raise RequestError(404, message, param="model", code="model_not_found")
        return self[name]


def build_models(
    models: Mapping[str, str | list[str]] | Path | None,
    conversations: Conversations,
    options: ModelOptions,
) -> tuple[ServedModels, list[Wiring]]:
    """Build the named models and check their stages. The returned wirings are not yet prepared.

    Args:
        models: the models as the user names them, see `read_model_overrides`; None for the
            command's own configuration alone.
        conversations: stores the conversations of all models.
        options: the options that all models share.

    Raises:
        ConvragError: a model is not valid, or not ready; the message names it.
    """
    if models is None:
        model, wiring = _build_model(DEFAULT_NAME, [], conversations, options)
        return ServedModels({DEFAULT_NAME: model}), [wiring]
    built = ServedModels()
    wirings = []
    for name, overrides in read_model_overrides(models).items():
        try:
            built[name], wiring = _build_model(name, overrides, conversations, options)
        except ConvragError as error:
            raise ConfigError(f"task.models: {name}: {error}") from error
        wirings.append(wiring)
    return built, wirings


def _build_model(
    name: str, overrides: list[str], conversations: Conversations, options: ModelOptions
) -> tuple[ServedModel, Wiring]:
    config, command = compose_from_command(*overrides)
    wiring = Wiring(config, command)
    pipeline = Pipeline.for_conversations(wiring, read_settings(config), conversations, name)
    model = ServedModel(name, overrides, wiring, pipeline, options)
    wiring.check()
    return model, wiring
