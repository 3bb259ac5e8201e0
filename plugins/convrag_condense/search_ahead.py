"""Searches for a question in the user's own words while a model still condenses it."""

import logging
import threading
from contextvars import copy_context
from dataclasses import replace

from convrag import Query, Question, Retriever

log = logging.getLogger(__name__)


def start_search(retriever: Retriever, question: Question) -> threading.Thread:
    """Start to retrieve passages for the question's own words in a thread, and return at once.

    The store caches the result. If the turn then makes the same search, it takes the result from
    there, or waits for it. A search that fails is logged only: if the turn makes the same search,
    it fails again, and the record has the error. Its calls count as usage of the rewriter.

    Args:
        retriever: the run's retriever.
        question: as the user asked it, with the number of passages that the turn will retrieve.

    Returns:
        The thread, which nobody has to wait for.
    """
    query = Query(
        question.text,
        turn_id=question.turn_id,
        domain=question.domain,
        filter=question.filter,
    )
    asked = replace(question, standalone=question.text, queries=(query,))

    def search() -> None:
        try:
            retriever.retrieve_for(asked, asked.queries, question.top_k)
        except Exception:  # a plugin's own, which the turn's own search meets again
            log.info("turn %s: the search ahead failed", question.turn_id, exc_info=True)

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(search,), name="search_ahead", daemon=True)
    thread.start()
    return thread
