"""The stages of a configuration, and the turns that they answer."""

from __future__ import annotations

from convrag.turn import logs
from convrag.turn.conversations import MAX_CONVERSATIONS
from convrag.turn.logged_turns import find_log, flushing
from convrag.turn.session import Session
from convrag.turn.turn import Stages, TurnOptions
from convrag.turn.wiring import Wiring

__all__ = ["MAX_CONVERSATIONS", "Session", "Stages", "TurnOptions", "Wiring", "find_log", "flushing", "logs"]
