"""The stages of a configuration, and the turns that they answer."""

from convrag.turn import logs
from convrag.turn.conversations import MAX_CONVERSATIONS
from convrag.turn.observers import ending_conversations
from convrag.turn.session import ConversationInfo, Session
from convrag.turn.turn import StageFinished, Stages, TurnOptions
from convrag.turn.wiring import Wiring

__all__ = [
    "MAX_CONVERSATIONS",
    "ConversationInfo",
    "Session",
    "StageFinished",
    "Stages",
    "TurnOptions",
    "Wiring",
    "ending_conversations",
    "logs",
]
