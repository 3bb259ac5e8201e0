"""`task=index`: builds the index, and asks no question."""

import time
from pathlib import Path

from omegaconf import DictConfig

from convrag import Retriever, Task


class IndexTask(Task):
    """Build what the chosen retriever searches, over the data set's corpora; no question is asked.

    A retriever on a server needs it before its first run; local ones build their index by themselves when they are
    first used, and this does it ahead of time. Nothing is built twice: the same command goes on where a killed one
    stopped.
    """

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Build the index and print what was done."""
        from convrag.sdk.console import make_console
        from convrag.sdk.tasks.turns import Wiring

        wiring = Wiring(config)
        wiring.get("retriever")
        wiring.check()
        start = time.perf_counter()
        # The retrievers of a hybrid stand before it; each has its own index.
        for place, stage in wiring.stages.items():
            if isinstance(stage, Retriever):
                for line in stage.index() or ["it is ready"]:
                    make_console().print(f"{place}: {line}", soft_wrap=True)
        make_console().print(f"{time.perf_counter() - start:.1f} s")
        return 0
