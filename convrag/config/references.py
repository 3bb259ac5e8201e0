"""The configuration as it may be written down: `${oc.env:OPENAI_API_KEY}` stays a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from omegaconf import DictConfig, OmegaConf

from convrag.api.secrets import describe_secret, list_held_secrets
from convrag.config.settings import Settings


def keep_references(config: DictConfig, resolved: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as plain data, for files, logs and observers.

    What stages and users' own keys refer to is not resolved: nobody can tell whether it is secret. The settings are
    resolved, since observers use them (`sweep.metric`, `store.path`), unless a value shows a secret.

    Args:
        config: the configuration.
        resolved: the same as plain data, resolved.
    """
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    settings = {field.name for field in fields(Settings)}
    held = list_held_secrets()
    return {
        str(key): _resolve_public(value, resolved[str(key)], held) if key in settings else value
        for key, value in plain.items()
    }


def _resolve_public(value: Any, resolved: Any, held: Mapping[str, str]) -> Any:
    """The resolved value, or what it was where that shows a secret."""
    if isinstance(value, Mapping) and isinstance(resolved, Mapping):
        return {key: _resolve_public(each, resolved[key], held) for key, each in value.items()}
    return value if describe_secret(str(resolved), held) else resolved
