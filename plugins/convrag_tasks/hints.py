"""What who talks about documents is told once, for each store: what another choice would do."""

import logging
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from convrag.sdk.groups import OPTION_KEY

log = logging.getLogger(__name__)

WORDS = """The documents are searched by their words. An embedder also finds what is said in other words ("wfh" for \
working from home, "unwell" for sick, "referral bonus" for a reward). Two commands for it:
  pip install -c constraints.txt -e ".[neural]"
  {command} retriever=hybrid embedder=minilm"""
CALLS = """generator=ginger asks the model about each passage, then for each sentence. generator=direct answers in one \
call, and its words appear as they are written: docs/answers.md#which-generator"""


def tell_once(config: Mapping[str, Any]) -> None:
    """Log what applies to a configuration of task=chat or task=serve and was not told before."""
    chosen = {
        group: node.get(OPTION_KEY) for group, node in config.items() if isinstance(node, Mapping)
    }
    if chosen.get("task") in ("chat", "serve") and chosen["dataset"] == "documents":
        by_model = chosen["generator"] == "ginger" and chosen["llm"] != "extractive"
        for name, applies, text in (
            ("words", chosen["retriever"] == "bm25", WORDS),
            ("calls", by_model, CALLS),
        ):
            told = Path(config["store"]["path"]) / f"told-{name}"
            if applies and not told.exists():
                log.warning(
                    "%s",
                    text.format(command=shlex.join(["python", "-m", "convrag", *sys.argv[1:]])),
                )
                told.touch()
