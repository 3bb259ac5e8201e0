"""Records for tests of reports: two conversations whose turns share passages."""

import gzip
import json
import re
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

from convrag import (
    Answer,
    Evidence,
    EvidenceItem,
    Hit,
    Message,
    Passage,
    Query,
    Run,
    RunSummary,
    TurnRecord,
)
from convrag.sdk.types import Usage
from convrag_web.report.page import REPORT
from convrag_web.report.reports import write_run_report

HOSTILE = """</script><script>document.title='seized'</script><img src=x onerror="document.title='seized'">&lt;b&gt;"""
PASSAGES = [
    Passage(
        f"p{n}",
        f"Passage {n} says that the number {n} comes after {n - 1}. It also says that snow is white.",
        f"No {n}",
    )
    for n in range(12)
]


def make_record(
    conversation: str = "c1", number: int = 1, first: int = 0, **changes: Any
) -> TurnRecord:
    """A turn that retrieved five passages from `first` on, was shown three, cites two, and missed
    p11.
    """
    found = PASSAGES[first : first + 5]
    items = tuple(EvidenceItem(n, each, each.content) for n, each in enumerate(found[:3], 1))
    evidence = "\n".join(f"[{item.number}] {item.text}" for item in items)
    question = f"What comes after {first}?"
    record = TurnRecord(
        conversation_id=conversation,
        turn_id=f"{conversation}<::>{number}",
        domain="default",
        number=number,
        original_query=question,
        queries=(Query(f"What number comes after {first}?"), Query(question, 0.5)),
        hits=tuple(Hit(each, 9.0 - rank) for rank, each in enumerate(found)),
        evidence=Evidence(items),
        answer=Answer(
            f"The number {first} comes after {first - 1}. [1] Snow is white. [2]",
            (found[0].id, found[1].id),
        ),
        trace={
            "rewriter": {"gate": "heuristic", "reasons": ["pronoun"]},
            "retriever": {"missed_ranks": {"p11": 1040}},
            "generator": {"outcome": "answered"},
        },
        timings={"rewriter": 0.01, "retriever": 0.02, "generator": 0.1 * number},
        usage={"generator": Usage(calls=1, prompt_tokens=120, completion_tokens=9, cost_usd=0.002)},
        labels={"question_type": "Factoid" if number % 2 else ["Explanation", "How-To"]},
        reference=f"It is {first + 1}.",
        gold={found[1].id: 1, "p11": 2},
        prompt=(
            Message("system", "Answer from the passages."),
            Message("user", f"{evidence}\n\n{question}"),
        ),
    )
    return replace(record, **changes)


def make_records() -> list[TurnRecord]:
    """Seven turns: the second failed, the third fell back."""
    records = [make_record("c1", n, n - 1) for n in range(1, 5)] + [
        make_record("c2", n, n) for n in range(1, 4)
    ]
    records[1] = replace(
        records[1],
        error="retriever: the index is gone",
        prompt=(),
        answer=Answer(""),
        hits=(),
        evidence=Evidence(),
    )
    records[2] = replace(records[2], fallbacks={"rewriter": "the reply was empty"})
    return records


def make_hostile_record() -> TurnRecord:
    """A turn each of whose texts is HOSTILE."""
    passage = Passage(
        f"p{HOSTILE}",
        f"{HOSTILE} is the text.",
        HOSTILE,
        f"https://example.org/{HOSTILE}",
        {HOSTILE: HOSTILE},
    )
    return TurnRecord(
        conversation_id=HOSTILE,
        turn_id=f"turn {HOSTILE}",
        domain=HOSTILE,
        number=1,
        original_query=f"question {HOSTILE}",
        queries=(Query(f"query {HOSTILE}"),),
        hits=(
            Hit(passage, 1.0),
            Hit(replace(passage, id="p2", url="javascript:document.title='seized'"), 0.5),
        ),
        evidence=Evidence((EvidenceItem(1, passage, f"shown {HOSTILE}"),)),
        answer=Answer(f"answer {HOSTILE} [1] [7]", (passage.id,)),
        trace={
            "rewriter": {HOSTILE: HOSTILE, "list": [{HOSTILE: HOSTILE}]},
            HOSTILE: {"x": HOSTILE},
        },
        timings={HOSTILE: 0.1},
        usage={HOSTILE: Usage(calls=1)},
        fallbacks={HOSTILE: f"fallback {HOSTILE}"},
        error=f"error {HOSTILE}",
        labels={HOSTILE: HOSTILE},
        reference=f"reference {HOSTILE}",
        gold={f"missed {HOSTILE}": 1, passage.id: 1},
        prompt=(Message("user", f"prompt {HOSTILE}"),),
    )


def make_scores(records: list[TurnRecord]) -> dict[str, dict[str, float]]:
    """nDCG@5 grows from turn to turn, ROUGE-L goes up and down; BLEU_total_1 is a count behind a
    score.
    """
    count = max(len(records), 2)
    return {
        record.turn_id: {
            "nDCG@5": place / (count - 1),
            "ROUGE-L": place * 7 % count / count,
            "BLEU_total_1": 9.0,
        }
        for place, record in enumerate(records)
    }


def make_summary(records: list[TurnRecord], **changes: Any) -> RunSummary:
    means = {"nDCG@5": 0.5, "ROUGE-L": 0.5}
    failed = sum(bool(record.error) for record in records)
    turns = len(records)
    summary = RunSummary(
        means, {"default": means}, {"overall": turns, "default": turns}, turns, failed, {}, {}, {}, 1.0,
        main_measures=("nDCG@5", "ROUGE-L"),
    )  # fmt: skip
    return replace(summary, **changes)


def write_report(folder: Path, records: list[TurnRecord] | None = None, **options: Any) -> Path:
    """Write the report of these records into a folder; returns its path."""
    records = make_records() if records is None else records
    known = {each.id: each for each in PASSAGES}
    find = options.pop(
        "find_passages", lambda domain, ids: [known[each] for each in ids if each in known]
    )
    config = options.pop("config", {"history": "generated", "rewriter": {"_option_": "mmr"}})
    run = Run(folder, config, 2, len(records))
    write_run_report(
        run, make_summary(records), records, make_scores(records), find, folder, **options
    )
    return folder / REPORT


def read_texts(path: Path) -> dict[str, str]:
    """The data in a report by id, as they stand there."""
    return dict(
        re.findall(
            r'<script type="text/plain" id="([\w-]+)">([^<]*)</script>',
            path.read_text(encoding="utf-8"),
        )
    )


def read_blocks(path: Path) -> dict[str, Any]:
    """The data in a report by id, unpacked; plots as they stand there."""
    return {name: _unpack(name, text) for name, text in read_texts(path).items()}


def _unpack(name: str, text: str) -> Any:
    if name.startswith("plot-"):
        return text
    return json.loads(text if name == "head" else gzip.decompress(b64decode(text)))
