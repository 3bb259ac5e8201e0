"""Writes the files of a run that have a line for each turn: rewrites, records and rankings."""

from convrag.api.hookspecs import hookimpl
from convrag.api.records import Run, TurnRecord
from convrag.api.rows import format_query
from convrag.run.records import to_json
from convrag.run.run_folder import RunFolder
from convrag.sdk.data.trec import format_trec_lines
from convrag.sdk.data.utterances import USER
from convrag.store.files import encode_name
from convrag.store.json_text import format_json


class Writers:
    """An observer that writes the rewrite (BEIR), the record and the ranking (TREC) of each turn.

    Args:
        folder: the folder of the run.
        top_level: a stage whose trace's entries are at the top level of a record's line too; empty
            for none.
    """

    def __init__(self, folder: RunFolder, top_level: str = "") -> None:
        self.folder = folder
        self.top_level = top_level

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Append a turn to the files of its domain and to the TREC run."""
        file = f"{encode_name(record.domain)}.jsonl"
        self.folder.append(f"datasets/{file}", [format_beir_line(record)])
        self.folder.append(f"intermediate/{file}", [to_json(record, top_level=self.top_level)])
        self.folder.append("run.trec", format_trec_lines(record))


def format_beir_line(record: TurnRecord) -> str:
    """Format the first query and the answer as a line of BEIR's queries.jsonl.

    The text has MTRAG's prefix `|user|: `. `queries` holds all queries with their weights, so that
    rewriter=replay can search for the same. `domain` is there because the file's name may be
    shortened (see `encode_name`).
    """
    line = {
        "_id": record.turn_id,
        "domain": record.domain,
        "text": f"{USER}{record.rewritten_query}",
        "queries": [format_query(query) for query in record.queries],
        "agent_response": record.answer.text,
    }
    return format_json(line)
