"""The turns before a response of OpenAI's Responses: `previous_response_id` names the last one."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from convrag import Answer, TurnRecord
from convrag_web.server.conversation_turns import ConversationTurns
from convrag_web.server.errors import RequestError
from convrag_web.server.served_model import ServedModel


class ResponseHistory(NamedTuple):
    """The turns of a stored conversation up to a response.

    Args:
        records: the records of the turns.
        domain: the corpus of the conversation.
        model: the name of its model.
        conversation: its id if these are all of its turns, so that it can go on; else empty.
    """

    records: Sequence[TurnRecord] = ()
    domain: str | None = None
    model: str = ""
    conversation: str = ""


def find_history(turns: ConversationTurns, response: str) -> ResponseHistory:
    """Find the turns up to a response, whose id names its conversation and its number.

    Raises:
        RequestError: there is no such response.
    """
    id, _, number_text = response.removeprefix("resp_").rpartition(".")
    session = None
    records: list[TurnRecord] = []
    if re.fullmatch(r"[1-9]\d{0,8}", number_text):
        session = turns.conversations.get(id)
    if session:
        records = turns.conversations.records(id)
    if session is None or int(number_text) > len(records):
        message = "previous_response_id: the server keeps no such response"
        raise RequestError(
            404, message, param="previous_response_id", code="previous_response_not_found"
        )
    number = int(number_text)
    is_whole = number == len(records)
    return ResponseHistory(records[:number], session.domain, session.model, id if is_whole else "")


def continue_conversation(
    turns: ConversationTurns,
    history: ResponseHistory,
    model: ServedModel,
    domain: str,
    pairs: Sequence[tuple[str, str]],
) -> str:
    """Return the id of a conversation that has exactly these turns.

    It is the history's own conversation if that can go on as it is, else a new one with a copy.

    Args:
        turns: begins a conversation.
        history: the turns up to the previous response.
        model: the model that answers.
        domain: the corpus of the next question.
        pairs: further questions with their answers.
    """
    is_same = (history.model, history.domain) == (model.name, domain)
    if history.conversation and is_same and not pairs:
        return history.conversation
    session = turns.begin(model, domain)
    further = [
        TurnRecord("", "", domain, 0, question, answer=Answer(answer)) for question, answer in pairs
    ]
    for number, record in enumerate([*history.records, *further], start=1):
        copied = replace(
            record,
            conversation_id=session.id,
            turn_id=f"{session.id}<::>{number}",
            number=number,
        )
        turns.conversations.append(session, copied)
    return session.id
