"""convrag: whole turns with search, evidence, record and store; the LLM is the fourth argument."""

import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any

from conversing import measure
from convrag import Passage, Pipeline


@cache
def pipeline(address: str) -> Any:
    """One pipeline for all conversations."""
    notes = [
        Passage(f"p{n}", f"Dog {n} flies in space and its passage is written down.")
        for n in range(20)
    ]
    llm = [f"llm={sys.argv[4]}", "llm.model=openai/m", f"llm.api_base={address}"]
    store = f"store.path={tempfile.mkdtemp(dir=os.environ.get('TMPDIR'))}"
    return Pipeline.over(notes, "rewriter=none", "generator=direct", *llm, store)


def begin(address: str, name: str) -> Callable[[str], Any]:
    """A conversation."""

    def talk(question: str) -> str:
        return read(pipeline(address).turn(name, question))

    async def talk_async(question: str) -> str:
        return read(await pipeline(address).aturn(name, question))

    def read(record: Any) -> str:
        return str(record.answer.text if record.answer else record.error)

    return talk if sys.argv[3] == "threads" else talk_async


if __name__ == "__main__":
    measure(begin)
