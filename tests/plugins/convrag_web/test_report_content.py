"""What is in report.html of a run: everything once, within a limit of size, and nothing that a
browser would run.
"""

import gzip
import json
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from convrag import Answer, Evidence, EvidenceItem, Message
from convrag_web.report.bundle import bundle_modules
from convrag_web.report.turn_blocks import RunTurns, pack_turns
from convrag_web.report.turn_rows import split_by_passages
from places import ROOT
from web.report_records import (
    HOSTILE,
    PASSAGES,
    make_hostile_record,
    make_record,
    make_records,
    make_scores,
    read_blocks,
    write_report,
)

VIEW = ROOT / "plugins/convrag_web/view"


def test_the_list_has_what_the_page_sorts_and_filters_by(tmp_path: Path) -> None:
    records = make_records()
    index = read_blocks(write_report(tmp_path, records))["index-0"]
    assert index["turn"] == [record.turn_id for record in records]
    assert index["number"] == [1, 2, 3, 4, 1, 2, 3]
    assert index["failed"] == [0, 1, 0, 0, 0, 0, 0]
    assert index["fell_back"][2] == ["rewriter"]
    assert (index["relevant"][0], index["found"][0], index["found"][1]) == (2, 1, 0)
    assert index["labels"]["question_type"][:2] == ["Factoid", ["Explanation", "How-To"]]
    assert index["scores"]["nDCG@5"][-1] == 1.0
    assert index["cost"][0] == 0.002


def test_sentences_without_support_are_kept_where_trust_was_measured() -> None:
    record = make_record(answer=Answer("Snow is white. Bees make honey."))
    for scores, expected in (({"trust_unsupported": 1.0}, [[15, 31]]), ({}, None)):
        turns = RunTurns([record], {record.turn_id: scores}, lambda domain, ids: [])
        packed = pack_turns([turns], lambda turn_id: 0.0, 10**6).blocks["turns-0-0"]
        (row,) = json.loads(gzip.decompress(b64decode(packed)))
        assert row.get("unsupported") == expected


def test_each_passage_stands_there_once(tmp_path: Path) -> None:
    """Though turns share passages, and the evidence and the prompts repeat their texts."""
    everything = json.dumps(read_blocks(write_report(tmp_path)))
    for passage in PASSAGES[:8]:
        assert everything.count(passage.text) == 1, passage.id


def test_a_prompt_is_kept_as_it_was_sent(tmp_path: Path) -> None:
    records = make_records()
    blocks = read_blocks(write_report(tmp_path, records))
    for record, row in zip(records, blocks["turns-0-0"], strict=True):
        assert [(role, join(content, blocks)) for role, content in row["prompt"]] == [
            tuple(m) for m in record.prompt
        ]
        shown = [join(item[3], blocks) for item in row["evidence"]]
        assert shown == [item.text for item in record.evidence.items]


def test_evidence_of_earlier_turns_in_a_prompt_is_not_repeated(tmp_path: Path) -> None:
    first = make_record("c", 1, 0)
    later = replace(
        make_record("c", 2, 6), prompt=(Message("user", f"Before: {PASSAGES[0].content} Now?"),)
    )
    everything = json.dumps(read_blocks(write_report(tmp_path, [first, later])))
    assert everything.count(PASSAGES[0].text) == 1


def test_hints_and_passages_that_were_not_retrieved_are_kept(tmp_path: Path) -> None:
    items = (EvidenceItem(1, PASSAGES[8], "Please refer to [8] above.", hint=True),)
    blocks = read_blocks(write_report(tmp_path, [make_record(evidence=Evidence(items))]))
    number, place, hint, shown = blocks["turns-0-0"][0]["evidence"][0]
    assert (number, hint, shown) == (1, 1, "Please refer to [8] above.")
    assert blocks["passages-0"][place][:3] == ["p8", "No 8", PASSAGES[8].text]


def test_missed_passages_have_their_texts_where_these_are_known(tmp_path: Path) -> None:
    blocks = read_blocks(
        write_report(tmp_path, [make_record(gold={"p11": 1, "elsewhere": 1, "p0": 1})])
    )
    missed = blocks["turns-0-0"][0]["missed"]
    assert {name: blocks["passages-0"][place][2] for name, place in missed.items()} == {
        "p11": PASSAGES[11].text
    }
    assert blocks["turns-0-0"][0]["gold"] == {"p11": 1, "elsewhere": 1, "p0": 1}


def test_cited_passages_of_earlier_turns_are_at_hand(tmp_path: Path) -> None:
    """generator=chat numbers the passages of a whole conversation."""
    later = make_record("c", 2, 6, answer=Answer("As said. [1]", ("p0",)))
    blocks = read_blocks(
        write_report(tmp_path, [make_record("c", 1, 0), later, make_record("other", 1, 6)])
    )
    assert [row.get("earlier") for row in blocks["turns-0-0"]] == [{}, {"p0": 0}, {}]


def test_turns_come_in_chunks(tmp_path: Path) -> None:
    blocks = read_blocks(
        write_report(tmp_path, [make_record(f"c{n}", 1, n % 7) for n in range(520)])
    )
    assert [len(blocks[f"turns-0-{n}"]) for n in range(3)] == [250, 250, 20]


def test_above_the_limit_the_worst_turns_keep_their_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records = [make_many(n) for n in range(400)]
    size = len(write_report(tmp_path, records).read_text())
    path = write_report(tmp_path, records, room=size // 2)
    assert len(path.read_text()) < 0.8 * size  # the page itself takes its place
    blocks = read_blocks(path)
    assert len(blocks["index-0"]["turn"]) == 400
    texts = [
        passage
        for name, chunk in blocks.items()
        if name.startswith("passages-")
        for passage in chunk
    ]
    rows = [row for name, chunk in blocks.items() if name.startswith("turns-") for row in chunk]
    worst_first = sorted(range(400), key=lambda place: need(records, place))
    kept = [rows[place] is not None for place in worst_first]
    assert kept == sorted(kept, reverse=True)
    assert 20 < sum(kept) < 380
    assert {number for row in rows if row for number, _ in row["contexts"]} <= set(
        range(len(texts))
    )
    (line,) = blocks["head"]["left_out"]
    assert f"left out of {400 - sum(kept)} well-answered turns" in line
    assert line in caplog.text


def test_no_text_of_others_is_markup(tmp_path: Path) -> None:
    page = write_report(tmp_path, [make_hostile_record()]).read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert "onerror" not in page.partition('<script type="module">')[0]
    data, _, script = page.partition('<script type="module">')
    assert (
        data.count("<script")
        == data.count('<script type="text/plain" id="')
        == data.count("</script>")
    )
    assert script.count("</script") == 1


def test_half_a_surrogate_pair_and_control_characters_do_not_stop_it(tmp_path: Path) -> None:
    record = make_record(original_query="a \ud83d b \x00 c", prompt=(Message("user", "\ud83d"),))
    assert read_blocks(write_report(tmp_path, [record]))["index-0"]["question"] == [
        "a \ud83d b \x00 c"
    ]


def test_the_policy_allows_this_script_and_nothing_else(tmp_path: Path) -> None:
    page = write_report(tmp_path).read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == hash_of(script)
    assert rules["style-src"] == hash_of(style)
    assert "https://" not in page.partition("<body>")[0]


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    assert write_report(tmp_path).read_bytes() == write_report(tmp_path).read_bytes()


def test_a_text_is_split_by_the_passages_in_it() -> None:
    passage = "Ice floats on water because it is lighter than water is."
    assert split_by_passages(f"[1] {passage} Why?", [(7, passage)]) == ["[1] ", 7, " Why?"]
    assert split_by_passages(passage, [(7, passage)]) == [7]
    assert split_by_passages("Why?", [(7, passage)]) == "Why?"
    assert split_by_passages("a short one", [(7, "short")]) == "a short one"


def test_every_module_of_the_view_can_be_bundled() -> None:
    script = bundle_modules("report.js")
    for path in VIEW.glob("*.js"):
        assert f"const {path.stem}_js = (() => {{" in script, (
            f"{path.name}: report.js does not come to it"
        )
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)


@pytest.mark.parametrize(
    "line",
    [
        'import x from "./dom.js";',
        'import "./dom.js";',
        "export default 1;",
        "export { make };",
        'import { a as b } from "./dom.js";',
    ],
)
def test_a_form_that_cannot_be_bundled_is_an_error(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "convrag_web.report.bundle.read_view_file", lambda name: f"{line}\nconst a = 1;\n"
    )
    with pytest.raises(ValueError, match="cannot be bundled"):
        bundle_modules(f"odd{len(line)}.js")


def test_nothing_in_the_view_reads_text_as_markup() -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser"
    )
    forbidden += r"|\beval\(|new Function"
    for path in VIEW.glob("*.js"):
        assert not re.search(forbidden, path.read_text()), path.name


def make_many(number: int) -> Any:
    """A turn with three passages of its own, each of 600 characters that do not compress well."""
    own = [
        replace(
            passage,
            id=f"{passage.id}-{number}",
            text="".join(
                sha256(f"{number}/{passage.id}/{n}".encode()).hexdigest() for n in range(9)
            ),
        )
        for passage in PASSAGES[:3]
    ]
    record = make_record(f"c{number}", 1, 0, evidence=Evidence(), prompt=(), gold={})
    return replace(
        record,
        hits=tuple(replace(hit, passage=each) for hit, each in zip(record.hits, own, strict=False)),
    )


def need(records: Any, place: int) -> tuple[float, int]:
    own = make_scores(records)[records[place].turn_id]
    return ((own["nDCG@5"] + own["ROUGE-L"]) / 2, place)


def join(content: Any, blocks: dict[str, Any]) -> str:
    parts = content if isinstance(content, list) else [content]
    return "".join(
        part if isinstance(part, str) else blocks["passages-0"][part][2] for part in parts
    )


def hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
