"""A hint for people who talk about documents, shown once per store."""

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
  pip install -e ".[fastembed]"
  {command} retriever=hybrid embedder=fastembed"""


def tell_once(config: Mapping[str, Any]) -> None:
    """Log what an embedder would find, unless a configuration of task=chat or task=serve has one,
    or its store is marked as told.
    """
    options = {
        group: node.get(OPTION_KEY) for group, node in config.items() if isinstance(node, Mapping)
    }
    if options.get("task") not in ("chat", "serve"):
        return
    if options["dataset"] != "documents" or options["retriever"] != "bm25":
        return
    mark = Path(config["store"]["path"]) / "told-words"
    if not mark.exists():
        command = shlex.join(["python", "-m", "convrag", *sys.argv[1:]])
        log.warning("%s", WORDS.format(command=command))
        mark.touch()
