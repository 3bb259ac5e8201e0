"""The ids of turns in MTRAG's form, conversation<::>number."""

_SEPARATOR = "<::>"


def get_conversation_id(turn_id: str) -> str:
    """Return the id of a turn's conversation; the whole id if it has another form."""
    return turn_id.partition(_SEPARATOR)[0]
