"""The stages of a configuration, and the turns that they answer."""

from convrag.api.session import (
    ConversationInfo as ConversationInfo,
    Session as Session,
    make_title as make_title,
    to_turn as to_turn,
)
from convrag.registry.plugins import open_database as open_database
from convrag.turn import logs as logs
from convrag.turn.conversations import MAX_CONVERSATIONS as MAX_CONVERSATIONS
from convrag.turn.observers import ending_conversations as ending_conversations
from convrag.turn.turn import (
    StageFinished as StageFinished,
    StageNotice as StageNotice,
    Stages as Stages,
    TurnOptions as TurnOptions,
)
from convrag.turn.wiring import Wiring as Wiring
