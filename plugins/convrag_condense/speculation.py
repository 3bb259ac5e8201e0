"""Searching for the question as it was asked, while it is being condensed."""

from __future__ import annotations

import logging
import threading

from convrag import Query, Question, Retriever

log = logging.getLogger(__name__)


def search_ahead(retriever: Retriever, question: Question, k: int) -> None:
    """Start retrieving for the question's own words in a thread, and return at once.

    The store keeps what is found. Should the turn come to search for the same words and the same k, the result is there
    or is waited for; if not, the index is in memory by then, and that is all. A search that fails is not this turn's
    search yet: should it become that, it fails again where the record says so.
    """
    queries = (Query(question.text, turn_id=question.turn_id, domain=question.domain),)

    def search() -> None:
        try:
            retriever.retrieve(queries, k)
        except Exception:
            log.info("turn %s: the search ahead failed", question.turn_id, exc_info=True)

    threading.Thread(target=search, name="search-ahead", daemon=True).start()
