"""Checks of the option's parameters that a signature cannot express."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from convrag import ConfigError
from convrag.sdk.secrets import is_secret_name

_NOT_EXTRA = {
    **{name: f"set llm.{name}" for name in ("model", "temperature", "top_p", "max_tokens", "seed", "stop", "timeout")},
    **dict.fromkeys(("api_base", "base_url"), "set llm.api_base"),
    **dict.fromkeys(("num_retries", "max_retries"), "set llm.retries"),
    **dict.fromkeys(("messages", "stream", "stream_options", "n", "caching"), "convrag sets it itself"),
}


def check_variable_name(name: str, parameter: str) -> None:
    """Raise ConfigError for what is no variable's name; it may be the key itself, so the message does not repeat it."""
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", name):
        raise ConfigError(f"llm.{parameter} must be the name of an environment variable, such as OPENAI_API_KEY")


def check_extra(extra: Mapping[str, Any]) -> None:
    """Raise ConfigError for parameters that the option has itself, and for keys, of which it takes the variable's name.

    Headers may hold a key: a configuration refers to it, as in Authorization: "Bearer ${oc.env:MY_KEY}".
    """
    for name in extra:
        if name in _NOT_EXTRA:
            raise ConfigError(f"llm.extra.{name}: {_NOT_EXTRA[name]}")
    if secret := next((name for name in extra if is_secret_name(name, loose=True)), None):
        raise ConfigError(
            f"llm.extra: {secret!r} is named like a secret: keys come from the environment "
            "(llm.api_key_env names the variable)"
        )


def check_at_least(least: float, **values: float | None) -> None:
    """Raise ConfigError for a number below `least`; None, which is no limit, passes."""
    for name, value in values.items():
        if value is not None and value < least:
            raise ConfigError(f"llm.{name}={value}: it must be at least {least:g}")
