"""GINGER, sentence by sentence of its authors' description.

A scripted model stands for GPT-4: it tags the sentences of a passage that name the subject of the
query, and writes each prompt to a file. BERTopic, MiniLM and duoT5 have tests of their own
(tests/plugins/convrag_bertopic, tests/plugins/convrag_neural); here their parameters are compared.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from convrag.config.compose import compose
from convrag.sdk.text.citations import strip_citations
from tasks import run_task

MODEL = '''
import json
import threading

from convrag import LLM, Completion, Prompt, hookimpl

LOCK = threading.Lock()


class ScriptedLLM(LLM):
    """Tags sentences that name the last word of the query, and copies what it is given."""

    def complete(self, prompt: Prompt) -> Completion:
        messages = [message.content for message in prompt.messages]
        row = {"task": prompt.task, "sampling": dict(prompt.sampling), "messages": messages}
        with LOCK, open("prompts.jsonl", "a") as file:
            file.write(json.dumps(row) + "\\n")
        return Completion(getattr(self, prompt.task)(prompt.inputs))

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def nuggets(self, inputs):
        subject = inputs["question"].rstrip("?").split()[-1]
        sentences = inputs["passage"].split(". ")
        tagged = [f"<IN>{each}</IN>" if subject in each.lower() else each for each in sentences]
        return ". ".join(tagged)

    def summarize(self, inputs):
        return f"Summary: {inputs['nuggets'][0]}"

    def fluency(self, inputs):
        return inputs["text"]

    def answer(self, inputs):
        sentences = [f"Passage {p['number']} is long. [{p['number']}]" for p in inputs["evidence"]]
        return "1. Pieces: some [1]\\n\\n4. Answer: " + " ".join(sentences)

    def importance(self, inputs):
        return json.dumps({"labels": ["vital"] * len(inputs["nuggets"])})

    def assign(self, inputs):
        said = inputs["answer"]
        labels = ["support" if each.strip(".") in said else "not_support" for each in inputs["nuggets"]]
        return json.dumps({"labels": labels})


@hookimpl
def convrag_register(register):
    """Register the model."""
    register("llm", "scripted", ScriptedLLM)
'''

PASSAGES = {
    "p1": "Kettles whistle because steam is forced through the lid. "
    "Kettles whistle loudest when the water boils fast.",
    "p2": "Copper kettles conduct heat better than steel. "
    "Copper kettles last longer than steel ones. Teapots keep tea warm.",
    "p3": "Teapots are made of clay. Cups have a handle.",
    "p4": "Trees grow in forests.",
}
QUERIES = {"t1": "kettles", "t2": "teapots", "t3": "cups", "t4": "spoons"}
"""Turns with four nuggets in two facets, with two, with one, and with none."""

GIVEN = [
    "dataset=jsonl",
    "dataset.corpus=corpus.jsonl",
    "dataset.conversations=talks.jsonl",
    "dataset.qrels=qrels.tsv",
    "rewriter=replay",
    "rewriter.path=queries.jsonl",
    "retriever=run",
    "retriever.path=given.trec",
    "tracker=none",
    "report=false",
]
"""The queries are rewritten and the passages ranked before: both are given."""

LEXICAL = ["clusterer=lsa", "ranker=bm25_okapi", "embedder=words"]
SYSTEM = ["+system=ginger", *LEXICAL]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The overrides that choose the scripted model."""
    path = tmp_path_factory.mktemp("model") / "scripted_gpt.py"
    path.write_text(MODEL)
    return [f"plugins=[{path}]", "llm=scripted"]


class Finished(NamedTuple):
    """What a command has left."""

    folder: Path
    stdout: str
    records: dict[str, Any]
    prompts: list[dict[str, Any]]

    def trace(self, turn_id: str) -> Any:
        return self.records[turn_id]["trace"]["generator"]

    def answer(self, turn_id: str) -> str:
        return strip_citations(self.records[turn_id]["agent_response"])

    def list_prompts(self, task: str) -> list[dict[str, Any]]:
        return [prompt for prompt in self.prompts if prompt["task"] == task]


def write_given(folder: Path) -> None:
    """Write the passages, the questions, their rewrites and their rankings."""
    folder.mkdir()
    rows: dict[str, list[Any]] = {
        "corpus.jsonl": [{"_id": name, "text": text} for name, text in PASSAGES.items()],
        "talks.jsonl": [
            {"id": name, "turns": [{"id": name, "question": "And these?"}]} for name in QUERIES
        ],
        "queries.jsonl": [
            {"_id": name, "text": f"|user|: What is said about {subject}?"}
            for name, subject in QUERIES.items()
        ],
    }
    for name, given in rows.items():
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in given))
    ranked = [
        f"{query} Q0 {passage} {rank} {9 - rank} given\n"
        for query in QUERIES
        for rank, passage in enumerate(PASSAGES, 1)
    ]
    (folder / "given.trec").write_text("".join(ranked))
    (folder / "qrels.tsv").write_text("".join(f"{query}\tp1\t1\n" for query in QUERIES))


def run(folder: Path, *arguments: str) -> Finished:
    """Run a command in a new folder with the given files; it must end well."""
    write_given(folder)
    done = run_task([*GIVEN, *arguments], folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = (folder / "out/intermediate/default.jsonl").read_text(encoding="utf-8").splitlines()
    records = {row["turn_id"]: row for row in map(json.loads, lines)}
    prompts = list(map(json.loads, (folder / "prompts.jsonl").read_text().splitlines()))
    return Finished(folder, done.stdout, records, prompts)


@pytest.fixture(scope="module")
def published(model: list[str], tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run of +system=ginger with a clusterer, a ranker and an embedder without models."""
    return run(tmp_path_factory.mktemp("ginger") / "published", *SYSTEM, *model)


# "Response Generation Pipeline"
# --------------------------------------------------------------------------------------------------


def test_the_query_and_the_ranking_are_given(published: Finished) -> None:
    """The de-contextualized query and the ranking of passages with relevance scores are provided."""
    record = published.records["t1"]
    assert record["original_query"] == "And these?"
    assert record["rewritten_query"] == "What is said about kettles?"
    scored = [(context["id"], context["score"]) for context in record["contexts"]]
    assert scored == [("p1", 8.0), ("p2", 7.0), ("p3", 6.0), ("p4", 5.0)]


def test_nuggets_are_detected_clustered_ranked_and_summarised(published: Finished) -> None:
    """The four steps, and rephrasing: each is a key of the trace."""
    trace = published.trace("t1")
    assert len(trace["nuggets"]) == 4
    assert [cluster["nuggets"] for cluster in trace["clusters"]] == [[0, 1], [2, 3]]
    assert sorted(trace["order"]) == [0, 1]
    assert [sentence["cluster"] for sentence in trace["sentences"]] == trace["order"]
    assert trace["fluency"] == "on"


def test_the_answer_is_entailed_by_the_passages(published: Finished) -> None:
    """All information in the final response is from the source, which each sentence cites."""
    for turn_id in ("t1", "t2", "t3"):
        record = published.records[turn_id]
        texts = {context["id"]: context["text"] for context in record["contexts"]}
        assert record["citations"]
        for sentence in published.trace(turn_id)["sentences"]:
            assert any(sentence["text"].rstrip(".") in texts[name] for name in sentence["passages"])


@pytest.mark.parametrize(
    ("argument", "place", "value"),
    [
        ("top_n=5", "top_n", 5),
        ("generator.res_length_limit=3", "generator.res_length_limit", 3),
        ("generator.res_length_limit=100", "generator.res_length_limit", 100),
        ("generator.fluency=true", "generator.fluency", True),
        ("generator.fluency=false", "generator.fluency", False),
        ("generator=baseline", "generator._option_", "baseline"),
        ("generator=cot", "generator._option_", "cot"),
        ("clusterer=bertopic", "clusterer._option_", "bertopic"),
        ("clusterer=lsa", "clusterer._option_", "lsa"),
        ("ranker=duot5", "ranker._option_", "duot5"),
        ("ranker=bm25", "ranker._option_", "bm25"),
    ],
)
@pytest.mark.parametrize("system", [[], ["+system=ginger"], ["+seed=ginger"]])
def test_each_argument_of_its_command_is_an_override(
    system: list[str], argument: str, place: str, value: Any
) -> None:
    """--top_n, --res_length_limit, --fluency_enhancement, --baseline, --cot, --clusterer,
    --ranker.
    """
    config: Any = compose(*system, argument)
    for name in place.split("."):
        config = config[name]
    assert config == value


@pytest.mark.parametrize("command", ["--baseline", "--cot"])
def test_a_baseline_answers_with_one_prompt(command: str, model: list[str], tmp_path: Path) -> None:
    option = command.removeprefix("--")
    found = run(tmp_path / option, *SYSTEM, *model, f"generator={option}_published")
    assert [prompt["task"] for prompt in found.prompts] == ["answer"] * 4
    for prompt in found.prompts:
        assert prompt["sampling"] == {"temperature": 1.0, "max_tokens": 1000}
        asked = prompt["messages"][-1]
        for number, text in enumerate(PASSAGES.values(), 1):
            assert f"[{number}] {text}" in asked
        assert asked.endswith("Answer in at most 3 sentences and 105 words.")
    reasons = "think before you write" in found.prompts[0]["messages"][0]
    assert reasons == (option == "cot")
    expected = "Passage 1 is long. Passage 2 is long. Passage 3 is long."
    if option == "cot":
        assert found.answer("t1") == expected


def test_a_limit_of_100_is_a_limit_of_400_words(model: list[str], tmp_path: Path) -> None:
    limited = ["generator=cot_published", "generator.res_length_limit=100"]
    found = run(tmp_path / "words", *SYSTEM, *model, *limited)
    assert all(
        prompt["messages"][-1].endswith("Answer in at most 400 words.") for prompt in found.prompts
    )
    assert found.answer("t1").count("is long.") == 4


@pytest.mark.parametrize("top_n", [1, 2])
def test_top_n_passages_are_considered(top_n: int, model: list[str], tmp_path: Path) -> None:
    found = run(tmp_path / "few", *SYSTEM, *model, f"top_n={top_n}")
    read = {nugget["passage_id"] for nugget in found.trace("t1")["nuggets"]}
    assert read == set(list(PASSAGES)[:top_n])


# "To detect nuggets in the passages, run the following command"
# --------------------------------------------------------------------------------------------------


def test_detected_nuggets_are_read_by_the_generator_and_by_metrics(
    published: Finished, model: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "detected"
    write_given(folder)
    detect = ["+system=ginger", "task=detect_nuggets", *model]
    passages = f"task.path={published.folder / 'out/intermediate'}"
    done = run_task([*detect, passages, "task.output=nuggets.jsonl"], folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "7 nuggets in 16 passages of 4 queries, 1 of them without a nugget" in done.stdout
    rows = [json.loads(line) for line in (folder / "nuggets.jsonl").read_text().splitlines()]
    for row in rows:
        assert row["nuggets"] == published.trace(row["turn_id"])["nuggets"]
    (folder / "prompts.jsonl").unlink()
    replayed = ["detector=replay", "detector.path=nuggets.jsonl"]
    judged = ["metrics=[nuggets]", "metrics.nuggets.nuggets=nuggets.jsonl"]
    done = run_task([*GIVEN, *SYSTEM, *model, *replayed, *judged], folder)
    assert (done.returncode, done.stderr) == (0, "")
    prompts = [json.loads(line) for line in (folder / "prompts.jsonl").read_text().splitlines()]
    assert not [prompt for prompt in prompts if prompt["task"] == "nuggets"]
    metrics = json.loads((folder / "out/metrics.json").read_text())
    assert metrics["overall"]["nuggets_count"] == 3.0  # four nuggets and two
    assert metrics["overall"]["nuggets_strict_vital"] == 0.75  # two of four, and both of two


# "Information Nugget Detection"
# --------------------------------------------------------------------------------------------------


def test_the_model_is_given_a_query_and_a_passage(published: Finished) -> None:
    """It copies the passage, and places nuggets between tags without modifying anything."""
    prompts = published.list_prompts("nuggets")
    assert len(prompts) == len(QUERIES) * len(PASSAGES)
    asked = [prompt["messages"][-1] for prompt in prompts]
    for subject in QUERIES.values():
        for text in PASSAGES.values():
            given = f"The question: What is said about {subject}?\n\nThe passage:\n{text}"
            assert given in asked
    instruction = prompts[0]["messages"][0]
    assert "tags <IN> and </IN> around each piece of key information" in instruction
    assert "change nothing in it: no word, no space, no punctuation" in instruction
    assert compose("+system=ginger").llm.model == "openai/gpt-4-turbo-2024-04-09"


def test_a_nugget_is_a_part_of_its_passage(published: Finished) -> None:
    for turn_id in QUERIES:
        for nugget in published.trace(turn_id)["nuggets"]:
            passage = PASSAGES[nugget["passage_id"]]
            assert passage[nugget["start"] : nugget["end"]] == nugget["text"]


# "Clustering Information Nuggets"
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clusterer", ["dbscan", "hdbscan", "kmeans", "agglomerative", "lda", "similarity", "lsa"]
)
def test_it_runs_with_each_clusterer_that_was_compared(
    clusterer: str, model: list[str], tmp_path: Path
) -> None:
    found = run(tmp_path / clusterer, *SYSTEM, *model, f"clusterer={clusterer}")
    check_clusters(found)


@pytest.mark.slow
def test_it_runs_with_bertopic(model: list[str], tmp_path: Path) -> None:
    pytest.importorskip("bertopic")
    check_clusters(run(tmp_path / "bertopic", *SYSTEM, *model, "clusterer=bertopic"))


def check_clusters(found: Finished) -> None:
    """Each nugget is in one cluster, of two nuggets at least, or all are clusters."""
    clusters = [cluster["nuggets"] for cluster in found.trace("t1")["clusters"]]
    assert sorted(index for members in clusters for index in members) == [0, 1, 2, 3]
    sizes = {len(members) for members in clusters}
    assert sizes == {1} or (len(clusters) > 1 and min(sizes) >= 2)
    assert found.answer("t1")


def test_the_parameters_of_bertopic_and_lsa_are_published_ones() -> None:
    config = compose("+system=ginger")
    assert config.embedder.model == "sentence-transformers/all-MiniLM-L6-v2"
    clusterer = config.clusterer
    umap = (clusterer.neighbors, clusterer.components, clusterer.min_dist)
    assert (clusterer._option_, umap) == ("bertopic", (50, 2, 0.01))
    assert (clusterer.min_cluster_size, clusterer.min_samples) == (2, 1)
    assert compose("+system=ginger_lexical").clusterer._option_ == "lsa"


# "Ranking Information Clusters"
# --------------------------------------------------------------------------------------------------


def test_the_nuggets_of_a_cluster_are_ranked_as_one_passage(published: Finished) -> None:
    trace = published.trace("t1")
    scores = [trace["clusters"][index]["score"] for index in trace["order"]]
    assert scores == sorted(scores, reverse=True)


def test_duot5_and_bm25_are_those_of_the_description() -> None:
    ranker = compose("+system=ginger").ranker
    assert (ranker._option_, ranker.model) == ("duot5", "castorini/duot5-base-msmarco")
    lexical = compose("+system=ginger_lexical").ranker
    assert (lexical._option_, lexical.variant) == ("bm25", "okapi")


def test_the_order_is_that_of_rank_bm25(published: Finished) -> None:
    from rank_bm25 import BM25Okapi

    trace = published.trace("t1")
    texts = []
    for cluster in trace["clusters"]:
        members = [trace["nuggets"][index]["text"] for index in cluster["nuggets"]]
        texts.append("; ".join(members).lower().replace(".", "").replace(";", "").split())
    scores = BM25Okapi(texts).get_scores(["what", "is", "said", "about", "kettles"])
    own = [cluster["score"] for cluster in trace["clusters"]]
    assert own == pytest.approx(list(scores), abs=1e-6)


# "Summarizing Information Nuggets"
# --------------------------------------------------------------------------------------------------


def test_the_top_clusters_are_summarised_in_a_sentence_each(published: Finished) -> None:
    """The top three; one sentence of around 35 words, in the prompt; a limit of the output."""
    assert compose("+system=ginger").generator.clusters == 3
    prompts = published.list_prompts("summarize")
    assert len(prompts) == 2 + 2 + 1  # two clusters, two nuggets, one nugget
    for prompt in prompts:
        assert "in one complete sentence of at most 35 words" in prompt["messages"][0]
        assert prompt["sampling"] == {"temperature": 1.0, "max_tokens": 100}
    assert [len(published.trace(name).get("sentences", ())) for name in QUERIES] == [2, 2, 1, 0]


def test_two_or_three_nuggets_are_clusters_of_their_own(published: Finished) -> None:
    """The clustering step is skipped; ranking and summarising are as usual."""
    clusters = published.trace("t2")["clusters"]
    assert [cluster["nuggets"] for cluster in clusters] == [[0], [1]]
    assert len(published.trace("t2")["sentences"]) == 2


def test_queries_with_no_or_one_nugget_are_left_out_of_every_metric(published: Finished) -> None:
    """They are answered, and in the records; scores, the summary and the table lack them."""
    nuggets = [len(published.trace(name)["nuggets"]) for name in QUERIES]
    assert nuggets == [4, 2, 1, 0]
    metrics = json.loads((published.folder / "out/metrics.json").read_text())
    assert metrics["excluded"] == {"fewer than 2 nuggets were detected": 2}
    assert (metrics["turns"], metrics["scored"]["overall"]) == (4, 2)
    lines = (published.folder / "out/scores.jsonl").read_text().splitlines()
    assert [json.loads(line)["turn_id"] for line in lines] == ["t1", "t2"]
    said = "2 of 4 turns are left out of every metric: fewer than 2 nuggets were detected."
    assert said in published.stdout
    assert said in (published.folder / "out/summary.md").read_text()


def test_they_are_left_out_when_the_records_are_measured_again(
    published: Finished, tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    write_given(folder)
    dataset = [each for each in GIVEN if each.startswith(("dataset", "tracker", "report"))]
    records = f"task.records={published.folder / 'out'}"
    done = run_task(["task=evaluate", records, *dataset, "metrics=[ranking,answers]"], folder)
    assert (done.returncode, done.stderr) == (0, "")
    metrics = json.loads((folder / "out/metrics.json").read_text())
    assert (metrics["turns"], metrics["scored"]["overall"]) == (4, 2)


def test_nothing_is_left_out_by_default(model: list[str], tmp_path: Path) -> None:
    found = run(tmp_path / "default", "+seed=ginger", "embedder=words", *model)
    metrics = json.loads((found.folder / "out/metrics.json").read_text())
    assert (metrics["excluded"], metrics["scored"]["overall"]) == ({}, 4)
