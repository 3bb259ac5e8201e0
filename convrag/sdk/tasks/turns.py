"""The stages of a configuration, and the turns that they answer."""

from convrag.api.session import ConversationInfo as ConversationInfo
from convrag.api.session import Session as Session
from convrag.api.session import make_title as make_title
from convrag.api.session import to_turn as to_turn
from convrag.registry.plugins import open_database as open_database
from convrag.turn import logs as logs
from convrag.turn.conversations import MAX_CONVERSATIONS as MAX_CONVERSATIONS
from convrag.turn.observers import ending_conversations as ending_conversations
from convrag.turn.turn import StageFinished as StageFinished
from convrag.turn.turn import Stages as Stages
from convrag.turn.turn import TurnOptions as TurnOptions
from convrag.turn.wiring import Wiring as Wiring
