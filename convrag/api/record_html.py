"""A turn's record as a notebook shows it."""

from __future__ import annotations

from convrag.api.html import format_details, format_table, format_text
from convrag.api.records import TurnRecord
from convrag.api.stage_html import SHOWN, format_passages, format_queries


def format_record_html(record: TurnRecord) -> str:
    """Format a record: question, answer, queries, the passages that the model saw, and what went wrong.

    What the answer rests on is marked in the passages, where the generator says so (`Answer.support`).
    """
    about = [("Question", record.original_query), ("Answer", record.answer.text or "(no answer)")]
    about += [("Query", record.rewritten_query)] if record.queries else []
    about += [(f"{stage} fell back", reason) for stage, reason in record.fallbacks.items()]
    about += [("Error", record.error)] if record.error else []
    count = len(record.evidence.items)
    more = f" (the first {SHOWN})" if count > SHOWN else ""
    title = f"{count} passage{'s' * (count != 1)} of {len(record.hits)} retrieved{more}"
    relevant = {passage_id for passage_id, grade in record.gold.items() if grade > 0}
    passages = format_details(title, format_passages(record.evidence, record.answer, relevant)) if count else ""
    more_than_one = len(record.queries) > 1
    queries = format_details(f"{len(record.queries)} queries", format_queries(record.queries)) if more_than_one else ""
    times = ", ".join(f"{stage} {seconds:.3f} s" for stage, seconds in record.timings.items())
    return f"<div>{format_table((), about)}{queries}{passages}<small>{format_text(times)}</small></div>"
