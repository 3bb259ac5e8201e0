"""The stages of a configuration, and the turns that they answer."""

from convrag.api.session import ConversationInfo, Session, make_title, to_turn
from convrag.registry.plugins import open_database
from convrag.turn import logs
from convrag.turn.conversations import MAX_CONVERSATIONS
from convrag.turn.observers import ending_conversations
from convrag.turn.turn import StageFinished, Stages, TurnOptions
from convrag.turn.wiring import Wiring
