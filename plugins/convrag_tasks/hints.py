"""Hints for people who talk about documents, each shown once per store."""

import logging
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from convrag.sdk.groups import OPTION_KEY

log = logging.getLogger(__name__)

WORDS = """The documents are searched by their words. An embedder also finds what is said in other \
words ("wfh" for working from home, "unwell" for sick, "referral bonus" for a reward). \
Two commands for it:
  pip install -c constraints.txt -e ".[neural]"
  {command} retriever=hybrid embedder=minilm"""

CALLS = """generator=ginger asks the model about each passage, then for each sentence. \
generator=direct answers in one call, and its words appear as they are written: \
docs/answers.md#which-generator"""


def tell_once(config: Mapping[str, Any]) -> None:
    """Log the hints that apply to a configuration of task=chat or task=serve, each once."""
    options = {
        group: node.get(OPTION_KEY) for group, node in config.items() if isinstance(node, Mapping)
    }
    if options.get("task") not in ("chat", "serve") or options["dataset"] != "documents":
        return
    store = Path(config["store"]["path"])
    if options["retriever"] == "bm25":
        _log_once(store / "told-words", WORDS)
    if options["generator"] == "ginger" and options["llm"] != "extractive":
        _log_once(store / "told-calls", CALLS)


def _log_once(mark: Path, hint: str) -> None:
    """Log a hint, unless the file that marks it as shown exists."""
    if not mark.exists():
        command = shlex.join(["python", "-m", "convrag", *sys.argv[1:]])
        log.warning("%s", hint.format(command=command))
        mark.touch()
