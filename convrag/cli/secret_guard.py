"""Keeps passwords and keys out of what Hydra writes and prints: the configuration of a command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from hydra._internal.hydra import Hydra
from omegaconf import DictConfig, OmegaConf

from convrag.api.secrets import MASK, redact
from convrag.config.secret_checks import refuse_secrets


def guard_configurations(arguments: Sequence[str]) -> None:
    """Let Hydra refuse a configuration that holds a secret, before it writes or prints (--cfg, --info) any of it.

    `--resolve` shows asterisks for what comes from an environment variable and is secret.

    Args:
        arguments: of the command line.
    """
    if not isinstance(Hydra.compose_config, _Checked):
        Hydra.compose_config = _Checked(Hydra.compose_config)  # type: ignore[assignment, method-assign]
    if "--resolve" in arguments:
        OmegaConf.register_new_resolver("oc.env", _read_redacted, replace=True)


class _Checked:
    """In place of a method that composes: checks what it composed."""

    def __init__(self, compose: Any) -> None:
        self._compose = compose

    def __get__(self, hydra: object, owner: type) -> Any:
        """The method of an object; of the class, this object itself."""
        return self if hydra is None else lambda *arguments, **named: self._check(hydra, *arguments, **named)

    def _check(self, *arguments: Any, **named: Any) -> DictConfig:
        config: DictConfig = self._compose(*arguments, **named)
        refuse_secrets(config)
        return config


def _read_redacted(name: str, default: str | None = None) -> str | None:
    """What `oc.env` gives, with asterisks for a secret."""
    value = os.environ.get(name, default)
    return value if value is None or redact(value) == value else MASK
