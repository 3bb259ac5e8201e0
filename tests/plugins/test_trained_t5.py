"""monoT5 and duoT5 with models that were trained (tests/models/train_tiny_t5.py): that the order is a real one."""

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands import run_convrag
from convrag.api.stages import Ranker
from convrag.config.compose import compose
from convrag.turn.pipeline import Pipeline
from convrag.turn.wiring import Wiring

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports the hub's client: no test of ours downloads

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
pytestmark = pytest.mark.integration

MODELS = Path(__file__).parents[1] / "models"
CHOICES = [
    ("monot5", []),
    ("duot5", ["ranker.aggregation=sym_sum"]),
    ("duot5", ["ranker.aggregation=sym_sum_log"]),
    ("duot5", ["ranker.aggregation=copeland"]),
]


def chosen(option: str, *overrides: str) -> Ranker:
    """The ranker of the option with its trained model, as the command would build it."""
    stage: Ranker = Wiring(compose(f"ranker={option}", f"ranker.model={MODELS / f'tiny_{option}'}", *overrides)).get(
        "ranker"
    )
    return stage


@pytest.fixture(params=CHOICES, ids=["monot5", "sym_sum", "sym_sum_log", "copeland"])
def ranker(request: pytest.FixtureRequest, here: Path) -> Ranker:
    option, overrides = request.param
    return chosen(option, *overrides)


@pytest.mark.parametrize("option", ["monot5", "duot5"])
def test_the_model_is_kept_as_the_published_ones_are(option: str, here: Path) -> None:
    folder = MODELS / f"tiny_{option}"
    assert {"config.json", "model.safetensors", "spiece.model", "tokenizer_config.json"} <= {
        path.name for path in folder.iterdir()
    }
    assert not (folder / "tokenizer.json").exists(), "then its own format would not be read"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000
    assert list(chosen(option).check()) == []


def test_the_text_with_more_of_the_query_comes_first(ranker: Ranker) -> None:
    """Of two texts, in words that training never showed."""
    from models.train_tiny_t5 import example, words

    chance = random.Random(12345)
    right = 0
    for _ in range(60):
        query, texts, shares = example(words()[1], chance, 2, 24)
        scores = ranker.score(query, texts)
        right += (scores[0] > scores[1]) == (shares[0] > shares[1])
    assert right >= 54


def test_the_order_is_that_of_relevance(ranker: Ranker) -> None:
    """Of five texts, which have none to all of a query's four words: each in its place or the next, the best first."""
    from models.train_tiny_t5 import example, words

    chance = random.Random(6789)
    best = pairs = right = 0
    for _ in range(12):
        query, texts, shares = example(words()[1], chance, 5, 16)
        scores = ranker.score(query, texts).tolist()
        best += scores.index(max(scores)) == shares.index(1.0)
        for first in range(5):
            for second in range(first):
                pairs += 1
                right += (scores[first] > scores[second]) == (shares[first] > shares[second])
    assert best >= 9
    assert right / pairs > 0.85


def test_it_follows_the_query(ranker: Ranker) -> None:
    """The same sentences, in another order for each query."""
    texts = [
        "The Moon always shows the Earth the same side, since it turns once in each orbit.",
        "A kettle is heated until the water in it boils, and its steam can drive a whistle.",
        "The violin has four strings, which are tuned in fifths and played with a bow.",
    ]
    for place, query in enumerate(["the side of the Moon", "Does steam drive the kettle?", "strings of a violin"]):
        scores = ranker.score(query, texts).tolist()
        assert scores.index(max(scores)) == place


def test_twelve_clusters_of_forty_words_are_132_pairs_in_two_batches(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted at the model itself; and none, where they were compared before."""
    from transformers import T5ForConditionalGeneration

    from models.train_tiny_t5 import words

    passes: list[tuple[int, int]] = []
    forward = T5ForConditionalGeneration.forward

    def counting(self: Any, *arguments: Any, **named: Any) -> Any:
        passes.append(tuple(named["input_ids"].shape))
        return forward(self, *arguments, **named)

    monkeypatch.setattr(T5ForConditionalGeneration, "forward", counting)
    chance = random.Random(1)
    texts = [" ".join(chance.choices(words()[0], k=40)) for _ in range(12)]
    ranker = chosen("duot5")
    scores = ranker.score("the side of the moon", texts).tolist()
    assert len(set(scores)) == 12
    assert sum(size for size, _ in passes) == 132
    assert len(passes) == -(-132 // max(16_384 // passes[0][1], 1)) <= 2, "as few as memory allows"
    assert all(size * longest <= 16_384 for size, longest in passes)
    del passes[:]
    assert ranker.score("the side of the moon", texts).tolist() == scores
    assert ranker.score("the side of the moon", texts[::-1]).tolist() == pytest.approx(scores[::-1])
    assert passes == []


# The whole pipeline ------------------------------------------------------------------------------------------------

QUERY = "Which lunar eclipse looks copper?"
PASSAGES = {
    "copper": "Copper is a metal. Copper is red. Copper was hammered by hand. Copper melts in a fire.",
    "moon": "The full moon is lit from the front. An eclipse is rare, as the moon mostly passes above or below it.",
    "both": "In a lunar eclipse the moon looks red or copper, as sunlight is bent by the air of the earth.",
}


def test_the_answer_is_in_the_order_of_the_scores(here: Path) -> None:
    """The passage that answers comes first, though others have more nuggets and were ranked above it."""
    rows = [{"_id": name, "title": "", "text": text} for name, text in PASSAGES.items()]
    Path("corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ranking = [f"c<::>1 Q0 {name} {rank} {9 - rank} given" for rank, name in enumerate(PASSAGES, start=1)]
    Path("given.trec").write_text("\n".join(ranking), encoding="utf-8")
    data = ["dataset=jsonl", "dataset.corpus=corpus.jsonl", "retriever=run", "retriever.path=given.trec"]
    few = [
        "detector=sentences",
        "detector.threshold=0.1",
        "detector.best=0",
        "clusterer=similarity",
        "rewriter=none",
        "tracker=none",
    ]
    model = ["generator=ginger", "ranker=duot5", f"ranker.model={MODELS / 'tiny_duot5'}"]
    answer = Pipeline.compose(*data, *few, *model).turn("c", QUERY).answer
    trace: Any = answer.trace
    scores = [cluster["score"] for cluster in trace["clusters"]]
    assert [len(cluster["nuggets"]) for cluster in trace["clusters"]] == [3, 1, 1]
    assert scores[2] > scores[0] > scores[1]
    assert [sentence["cluster"] for sentence in trace["sentences"]] == trace["order"] == [2, 0, 1]
    assert answer.text.startswith("In a lunar eclipse the moon looks red or copper")
    assert answer.citations == ("both", "copper", "moon")


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_convrag([*arguments, "tracker=none"], folder)


@pytest.mark.slow
def test_the_first_example_of_the_readme_runs_with_a_model_on_disk(tmp_path: Path) -> None:
    """And says what to do without."""
    done = command(
        "rewriter=dhrag", "ranker=duot5", f"ranker.model={MODELS / 'tiny_duot5'}", "limit=1", folder=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "turns answered from" in done.stdout
    without = command("rewriter=dhrag", "ranker=duot5", folder=tmp_path)
    assert without.returncode == 2
    assert without.stderr.startswith(
        "convrag: ranker=duot5: the model 'castorini/duot5-base-msmarco' is no folder, not in the local cache"
    )
    assert "give the path of a model's folder, or download it" in without.stderr
