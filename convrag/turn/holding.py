"""Holds a conversation while a turn of it is answered: turns of one conversation must not overlap."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from convrag.api.errors import OtherConfiguration, UnknownName
from convrag.turn.configuration import check_configuration
from convrag.turn.session import Session

if TYPE_CHECKING:
    from convrag.turn.pipeline import Pipeline


@contextmanager
def hold_conversation(pipeline: Pipeline, conversation_id: str, domain: str | None) -> Iterator[Session]:
    """Hold the lock of a conversation, with all turns that other processes have added to it; an unknown id begins one.

    Args:
        pipeline: whose turn it is.
        conversation_id: of the conversation.
        domain: the corpus that it is about; needed for a new one if the pipeline has more than one.

    Raises:
        UnknownName: there is no such domain, or several and none is given.
        OtherConfiguration: it was begun with another configuration, or about another domain.
        ConversationsUnusable: the database cannot be used.
    """
    while True:
        conversation = _open_conversation(pipeline, conversation_id, domain)
        with conversation.lock:
            if conversation.dropped:  # by another thread, while this one waited
                continue
            pipeline.conversations.refresh(conversation)
            if domain not in (None, conversation.domain):
                raise OtherConfiguration(conversation_id, [(f"domain={conversation.domain}", f"domain={domain}")])
            check_configuration(conversation, pipeline.configuration)
            yield conversation
            return


def _open_conversation(pipeline: Pipeline, conversation_id: str, domain: str | None) -> Session:
    if known := pipeline.conversations.find(conversation_id):
        return known
    if domain is None and len(pipeline.domains) == 1:
        domain = pipeline.domains[0]
    if domain not in pipeline.domains:
        raise UnknownName("domain", str(domain), pipeline.domains)
    return pipeline.conversations.begin(conversation_id, domain, configuration=pipeline.configuration)
