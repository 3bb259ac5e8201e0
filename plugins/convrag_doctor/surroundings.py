"""What lies around the chosen stages: keys, models, servers."""

from __future__ import annotations

import os
import socket
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from convrag.api.stages import GROUPS
from convrag.config.variants import variants_of
from convrag.registry import plugins
from convrag.registry.extras import is_installed
from convrag_doctor.chosen import Chosen
from convrag_doctor.finding import Finding

_PATIENCE = 2.0  # seconds for a server to take a connection
_NEURAL = {"torch", "transformers", "sentence_transformers"}


def keys(chosen: Chosen) -> Iterator[Finding]:
    """The variables that options and variants read, by name; no value is shown."""
    readers: dict[str, list[str]] = defaultdict(list)
    for place, name, value in chosen.values():
        if name.endswith("_env"):
            readers[value].append(chosen.wiring.chosen(place))
    for variant in (variant for group in GROUPS for variant in variants_of(group)):
        for name, value in variant.values.items():
            if name.endswith("_env") and isinstance(value, str):
                readers[value].append(f"{variant.group}={variant.name}")
    for option in (option for group in GROUPS for option in plugins.load().registry.options(group).values()):
        for variable in option.cls.env_vars:
            readers[variable].append(f"{option.group}={option.name}")
    for variable in sorted(name for name in readers if os.environ.get(name)):
        yield Finding("ok", f"set: {variable} ({', '.join(dict.fromkeys(readers[variable]))})")
    if unset := sorted(name for name in readers if not os.environ.get(name)):
        yield Finding("-", f"not set: {', '.join(unset)}")


def models(chosen: Chosen) -> Iterator[Finding]:
    """Whether the models of the chosen stages are on this disk, or have to be downloaded."""
    if not is_installed("huggingface_hub"):
        return
    from huggingface_hub import try_to_load_from_cache

    for place, name, model in chosen.values():
        if name not in ("model", "tokenizer") or not _NEURAL & set(chosen.wiring.stages[place].requires):
            continue
        about = f"{place}.{name}={model}"
        files = ("config.json", "tokenizer_config.json", "modules.json")
        if Path(model).expanduser().is_dir():
            yield Finding("ok", about, "is a folder")
        elif any(isinstance(try_to_load_from_cache(model, file), str) for file in files):
            yield Finding("ok", about, "is in the cache of the Hugging Face hub")
        elif not chosen.problems[place]:
            yield Finding("warn", about, "is not on this disk: it is downloaded at first use, where there is a network")


def servers(chosen: Chosen) -> Iterator[Finding]:
    """Whether something takes a connection at the addresses that are configured, in variables too."""
    for place, name, value in chosen.values():
        address = os.environ.get(value, "") if name.endswith("_env") else value
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            continue
        where = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
        about = f"{place}.{name}={value if name.endswith('_env') else where}"
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname, port), _PATIENCE).close()
        except OSError as error:
            why = error.strerror or str(error)
            if not chosen.problems[place]:
                yield Finding("warn", about, f"nothing answers ({why}): start the server, or choose another address")
        else:
            yield Finding("ok", about, "answers")
