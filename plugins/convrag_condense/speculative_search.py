"""A search for the question as it was asked, while it is being condensed (`rewriter.speculate`)."""

from __future__ import annotations

import logging
import threading

from convrag import Query, Question, Retriever

log = logging.getLogger(__name__)


def start_search(retriever: Retriever, question: Question, k: int) -> None:
    """Start to retrieve passages for the question's own words in a thread, and return at once.

    The store remembers what is found. Where the turn then searches for the same words and k, it takes the result from
    there, or waits for it; otherwise only the index has been loaded by then. A failure is logged and no more: where the
    turn makes the same search, it fails again, and the record says so.

    Args:
        retriever: the run's own.
        question: as the user asked it.
        k: the number of passages.
    """
    queries = (Query(question.text, turn_id=question.turn_id, domain=question.domain),)

    def search() -> None:
        try:
            retriever.retrieve(queries, k)
        except Exception:
            log.info("turn %s: the search ahead failed", question.turn_id, exc_info=True)

    threading.Thread(target=search, name="search-ahead", daemon=True).start()
