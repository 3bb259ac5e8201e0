"""What is wrong with a YAML variant, before anybody chooses it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from convrag import ConfigError
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.tasks.options import Option, Variant, check_value


def explain_mistake(variant: Variant, option: Option | None) -> str:
    """What is wrong with a variant's file, with its name and the line; empty where nothing is.

    Args:
        variant: the file.
        option: what it extends in the end; None where that does not exist.

    Raises:
        ConvragError: the option cannot be used itself.
    """
    try:
        text = Path(variant.file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return f"{variant.file} cannot be read: {error}"
    read, problem = _parse(text)
    if problem:
        return f"{variant.file}{problem}"
    if not isinstance(read, Mapping):
        return f"{variant.file}: it is no list of settings, such as defaults: [OPTION, _self_]"
    if not variant.extends:
        return f"{variant.file}: it extends no option of {variant.group}. Its first line is defaults: [OPTION, _self_]"
    if option is None:
        return f"{variant.file}{_find_line(text, 'defaults')}: it extends {variant.extends}, which does not exist"
    return next((f"{variant.file}{_find_line(text, key)}: {mistake}" for key, mistake in _check(read, option)), "")


def _check(read: Mapping[Any, Any], option: Option) -> list[tuple[str, str]]:
    """The keys that the option does not have, and the values that it cannot have, each with a message."""
    found = []
    for key, value in read.items():
        parameter = option.parameters.get(str(key))
        if key in ("defaults", OPTION_KEY):
            continue
        if parameter is None or parameter.injects_store:
            near = get_close_matches(str(key), option.configurable, n=1)
            guess = (
                f"Did you mean {near[0]}?" if near else f"Its parameters: {', '.join(option.configurable) or 'none'}."
            )
            found.append((str(key), f"{option.group}={option.name} has no parameter {key}. {guess}"))
        elif not parameter.group and not _is_interpolated(value):
            try:
                check_value(value, parameter.type, str(key))
            except ConfigError as error:
                found.append((str(key), str(error)))
    return found


def _is_interpolated(value: object) -> bool:
    """Whether a value is known only when it is used: `${oc.env:HOME}`, or `???`."""
    return isinstance(value, str) and ("${" in value or value == "???")


def _parse(text: str) -> tuple[Any, str]:
    """The contents of a YAML file; or nothing, and what is wrong with it, with the line."""
    try:
        return OmegaConf.to_container(OmegaConf.create(text)), ""
    except Exception as error:  # of PyYAML, and OmegaConf's own
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        return None, f"{place}: it is no YAML ({getattr(error, 'problem', None) or error})"


def _find_line(text: str, key: str) -> str:
    """The line that begins with a key."""
    numbers = [number for number, line in enumerate(text.splitlines(), start=1) if line.startswith((key, f'"{key}'))]
    return f", line {numbers[0]}" if numbers else ""
