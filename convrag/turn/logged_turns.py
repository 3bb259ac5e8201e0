"""Tells a tracker of the turns of conversations, where the configuration says so: `tracker.traces=true`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from convrag.api.errors import RunStopped
from convrag.api.records import TurnRecord
from convrag.api.secrets import redact
from convrag.api.stages import Tracker
from convrag.api.turn_logs import ConversationLog
from convrag.turn.turn import TurnInProgress

if TYPE_CHECKING:
    from convrag.turn.wiring import Wiring

SWITCH = "traces"
"""The parameter by which a tracker logs turns. Where it is not true, no tracker of conversations is built."""

FLUSH_SECONDS = 30.0
"""How long the end of a chat or a server waits until its turns are logged."""

INTERRUPTED_SECONDS = 1.5
"""How long it waits where a signal ends it: the process ends soon, whatever a database does."""


def find_log(wiring: Wiring, model: str = "") -> ConversationLog | None:
    """What the turns of a pipeline are told to; None where they are not logged. Call it before the stages are checked.

    Args:
        wiring: of the pipeline.
        model: the name that a server gives to the pipeline.

    Raises:
        ConfigError: the tracker cannot be built, or its address cannot be used.
    """
    if wiring.config.get("tracker", {}).get(SWITCH) is not True:
        return None
    tracker: Tracker = wiring.get("tracker")
    return tracker.log_conversations(wiring.logged_config, model)


def run_logged(turn: TurnInProgress, log: ConversationLog) -> TurnRecord:
    """Run a turn, and tell the log of it, also where it fails or is stopped. Raises as `TurnInProgress.run` does."""
    told, watch = log.begin_turn(turn.question), turn.options.watch

    def tell(stage: str, record: TurnRecord) -> None:
        told.end_stage(stage, record)
        if watch:
            watch(stage, record)

    turn.options = replace(turn.options, watch=tell)
    try:
        record = turn.run()
    except BaseException as error:
        reason = redact(str(error)) if isinstance(error, RunStopped) else "stopped before its end"
        told.end_turn(replace(turn.make_record(), error=f"{turn.stage}: {reason}"))
        raise
    told.end_turn(record)
    return record


@contextmanager
def flushing(logs: Iterable[ConversationLog | None], show: Callable[[str], object]) -> Iterator[None]:
    """Log the turns of the block before it is left, and show where they are.

    Args:
        logs: of the pipelines that answer in the block; None for those that have none.
        show: prints a line; each one once.
    """
    there, seconds = [log for log in logs if log is not None], INTERRUPTED_SECONDS
    try:
        yield
        seconds = FLUSH_SECONDS
    finally:
        until = time.monotonic() + seconds
        lines = dict.fromkeys(log.flush(max(0.0, until - time.monotonic())) for log in there)
        for line in filter(None, lines):
            show(line)
