"""Every damaged file ends in one message that names it, or is survived; nothing that is written
then holds NaN.
"""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConvragError
from convrag.config.compose import compose
from convrag.sdk.data.jsonl import read_lines
from convrag.store.json_text import parse_json
from convrag.turn.wiring import Wiring
from fuzz.mutations import damage_whole, insert_bytes, replace_values

pytestmark = pytest.mark.slow

TURN = {"id": "c<::>1", "question": "What is red?", "answer": "A rose.", "kind": "easy"}
MESSAGES = [{"role": "user", "content": "What is blue?"}, {"role": "assistant", "content": "Sky."}]
QRELS = "query-id\tcorpus-id\tscore\nc<::>1\tp\t1\n"
QUERY = {"_id": "c<::>1", "text": "|user|: What is red?"}
FOUND = {"document_id": "p", "text": "A rose is red.", "title": "Rose"}
REFERENCE = {
    "conversation_id": "c",
    "task_id": "c<::>1",
    "Collection": "mt-rag-clapnq-elser",
    "input": [{"speaker": "user", "text": "What is red?"}],
    "targets": [{"speaker": "agent", "text": "A rose."}],
    "contexts": [FOUND],
    "Answerability": ["ANSWERABLE"],
    "Question Type": ["Factoid"],
}
RATINGS = [
    {"turn_id": f"c<::>{n}", "criterion": "good", "score": n, "annotator": "ann"} for n in (1, 2, 3)
]
PASSAGES = [
    {
        "_id": "p",
        "text": "A rose is red.",
        "title": "Rose",
        "url": "http://x",
        "metadata": {"year": 1},
    },
    {"_id": "q", "text": "The sky is blue."},
]
REFERENCES = "mtrag/mtrag-human/generation_tasks/reference.jsonl"
RETRIEVAL = "mtrag/mtrag-human/retrieval_tasks/clapnq"
FILES: dict[str, list[Any] | str] = {
    "conversations.jsonl": [{"id": "c", "turns": [TURN]}, {"id": "d", "messages": MESSAGES}],
    "corpus.jsonl": PASSAGES,
    "qrels.tsv": QRELS,
    "queries.jsonl": [QUERY, {"_id": "c<::>2", "text": "And blue?"}],
    REFERENCES: [REFERENCE],
    f"{RETRIEVAL}/clapnq_questions.jsonl": [QUERY],
    f"{RETRIEVAL}/qrels/dev.tsv": QRELS,
    "mtrag/corpora/passage_level/clapnq.jsonl": PASSAGES,
    "tasks.jsonl": [REFERENCE],
    "given.trec": "c<::>1 Q0 q 1 2.0 tag\nc<::>1 Q0 p 2 1.0 tag\n",
    "predictions.jsonl": [
        {"task_id": "c<::>1", "predictions": [{"text": "A rose."}], "contexts": [FOUND]}
    ],
    "answers.jsonl": [
        {
            "turn_id": "c<::>1",
            "answer": "A rose.",
            "contexts": [{"id": "p", "text": "red", "score": 1}],
        }
    ],
    "labels.jsonl": [
        {"turn_id": "c<::>1", "importance": ["vital"], "assignment": ["support"], "words": 3}
    ],
    "ratings.jsonl": RATINGS,
    "people.jsonl": RATINGS,
    "rewrites.jsonl": [
        {**QUERY, "queries": [{"text": "Red?", "weight": 1.0}]},
        {"_id": "d<::>1", "text": "Blue?"},
    ],
}
CORPUS = ["dataset.corpus={}/corpus.jsonl", "dataset.qrels={}/qrels.tsv"]
DATA = ["dataset=jsonl", "dataset.conversations={}/conversations.jsonl", *CORPUS]
ASKING = [
    *DATA,
    "generator=direct",
    "generator.refuse=0",
    "rewriter=full_history",
    "metrics=[answers]",
]
SCORED = [*DATA, "metrics=[answers,ranking,answerability]"]
MTRAG = ["dataset=mtrag", "dataset.path={}/mtrag", "metrics=[ranking]"]
EXPORT = [*DATA, "task=export", "task.records={}/run", "task.path={}/written.jsonl"]
EVALUATE = [*DATA, "task=evaluate", "task.records={}/run"]
ALL = "metrics=[ranking,answers,answerability,grounding,rewrites]"

CASES: list[tuple[str, list[str]]] = [
    *((name, SCORED) for name in ("conversations.jsonl", "corpus.jsonl", "qrels.tsv")),
    (
        "queries.jsonl",
        ["dataset=jsonl", "dataset.queries={}/queries.jsonl", *CORPUS, "metrics=[ranking]"],
    ),
    *((name, MTRAG) for name in FILES if name.startswith("mtrag/")),
    ("tasks.jsonl", [*EXPORT, "task.subtask=reference", "task.tasks={}/tasks.jsonl"]),
    ("given.trec", [*DATA, "task=evaluate", "task.run={}/given.trec", "metrics=[ranking]"]),
    ("given.trec", [*DATA, "retriever=run", "retriever.path={}/given.trec", "metrics=[ranking]"]),
    ("predictions.jsonl", [*SCORED, "task=evaluate", "task.answers={}/predictions.jsonl"]),
    ("answers.jsonl", [*SCORED, "task=evaluate", "task.answers={}/answers.jsonl"]),
    ("run/intermediate/default.jsonl", [*EVALUATE, ALL]),
    *(
        ("run/intermediate/default.jsonl", [*EXPORT, f"task.format={form}"])
        for form in ("mtrag", "csv")
    ),
    ("run/metrics.json", EVALUATE),
    ("run/metrics.json", ["task=compare", "task.runs=[{}/run]"]),
    *(("run/scores.jsonl", [*EXPORT, f"task.format={form}"]) for form in ("csv", "inspectorraget")),
    (
        "labels.jsonl",
        [*EVALUATE, "metrics=[nuggets]", "metrics.nuggets.judgements=[{}/labels.jsonl]"],
    ),
    ("labels.jsonl", ["task=score_nuggets", "task.judgements=[{}/labels.jsonl]"]),
    (
        "ratings.jsonl",
        ["task=agreement", "task.scores=[{}/ratings.jsonl]", "task.human=[{}/people.jsonl]"],
    ),
    ("replies.jsonl", [*ASKING, "llm=replay", "llm.path={}/replies.jsonl"]),
    (
        "rewrites.jsonl",
        [*DATA, "rewriter=replay", "rewriter.path={}/rewrites.jsonl", "metrics=[ranking]"],
    ),
    (
        "rewrites.jsonl",
        [*DATA, "metrics=[rewrites]", "metrics.rewrites.reference={}/rewrites.jsonl"],
    ),
]
"""The file that is damaged, and a command that reads it."""

NAMES_NO_FILE = ("nothing of the same name", "no turn has both")
"""What task=agreement says of ratings that are sound, but of other turns or criteria."""


def prepare(folder: Path, *overrides: str) -> Callable[[], int]:
    """A command in this process, composed once: its status each time that it is called."""
    plain = ["rewriter=none", "generator=none", "tracker=none", "store.path={}/store", *overrides]
    config = compose(*(each.replace("{}", str(folder)) for each in plain))
    (folder / "out").mkdir(exist_ok=True)  # as Hydra does
    return lambda: int(Wiring(config).get("task").execute(config, folder / "out"))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files, with those of a finished run and the replies that were recorded of another one."""
    folder = tmp_path_factory.mktemp("sound")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = (
            content
            if isinstance(content, str)
            else "".join(f"{json.dumps(row)}\n" for row in content)
        )
        (folder / name).write_text(text, encoding="utf-8")
    assert prepare(folder, *DATA, "generator=ginger", "metrics=[ranking,answers]")() == 0
    (folder / "out").rename(folder / "run")
    assert prepare(folder, *ASKING, "task=record", "task.path={}/replies.jsonl")() == 0
    shutil.rmtree(folder / "store")
    return folder


@pytest.mark.parametrize(
    ("name", "overrides"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_damaged_file_is_named_or_survived(
    name: str, overrides: list[str], sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message may name another file, or the folder: qrels name turns that the damaged
    conversations lack.
    """
    folder = tmp_path / "files"
    shutil.copytree(sound, folder)
    if name.endswith("questions.jsonl"):  # it is read where there is no reference.jsonl
        (folder / REFERENCES).unlink()
    execute = prepare(folder, *overrides)
    assert execute() == 0
    data, chance, refused = (folder / name).read_bytes(), random.Random(name), []
    some = [
        change(data, chance)
        for change in (insert_bytes, replace_values, replace_values)
        for _ in range(12)
    ]
    for damaged in (*damage_whole(data), *some):
        (folder / name).write_bytes(damaged)
        try:
            assert execute() in (0, 1, 3), damaged
            for written in (folder / "out").glob("metrics.json"):
                parse_json(written.read_text())  # which refuses NaN
            for written in (folder / "out").glob("scores.jsonl"):
                assert all(parse_json(line.text) for line in read_lines(written))
        except ConvragError as error:
            refused.append(str(error))
    assert refused
    assert [
        each
        for each in refused
        if str(folder) not in each and not any(said in each for said in NAMES_NO_FILE)
    ] == []
