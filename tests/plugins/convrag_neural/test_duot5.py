import itertools
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import run_convrag
from convrag import Ranker, Store
from convrag.store.remember import remember
from convrag.testing import RankerContract

os.environ["HF_HUB_OFFLINE"] = (
    "1"  # before anything imports the hub's client: no test of ours downloads
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.integration

from convrag_neural.batches import make_batches  # noqa: E402
from convrag_neural.duot5 import Aggregation, DuoT5Ranker  # noqa: E402

SPOKEN = "why does a kettle whistle steam copper boils tea green hot lid water sooner than steel and the of in"
WORDS = SPOKEN.split()
TEXTS = [" ".join(WORDS[n : n + 4 + n % 3]) for n in range(12)]
QUERY = "why does a kettle whistle"


class Lengths(Ranker):
    """Scores a text by its length, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.asked += 1
        return np.array([len(text) for text in texts], dtype=np.float64)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 of random weights."""
    from models.tiny_t5 import save

    folder = tmp_path_factory.mktemp("models") / "t5"
    save(folder)
    return folder


def ranker(tiny: Path, **parameters: Any) -> DuoT5Ranker:
    return DuoT5Ranker(
        prefilter=parameters.pop("prefilter", Lengths()), model=str(tiny), **parameters
    )


class TestContract(RankerContract):
    @pytest.fixture(autouse=True)
    def _tiny(self, tiny: Path) -> None:
        self.tiny = tiny

    def make(self) -> DuoT5Ranker:
        return ranker(self.tiny)


def brute_force(tiny: Path, query: str, first: str, second: str) -> float:
    """P(true) of one ordered pair, without batches, padding, or any code of ours."""
    tokenizer = transformers.T5Tokenizer.from_pretrained(tiny)
    model = transformers.T5ForConditionalGeneration.from_pretrained(tiny).eval()
    ids = tokenizer(
        f"Query: {query} Document0: {first} Document1: {second} Relevant:", return_tensors="pt"
    ).input_ids
    with torch.inference_mode():
        logits = model(
            input_ids=ids, decoder_input_ids=torch.zeros((1, 1), dtype=torch.long)
        ).logits[0, 0]
    true, false = (tokenizer.convert_tokens_to_ids(word) for word in ("▁true", "▁false"))
    return math.exp(logits[true]) / (math.exp(logits[true]) + math.exp(logits[false]))


@pytest.fixture(scope="session")
def pairs(tiny: Path) -> dict[tuple[str, str], float]:
    return {pair: brute_force(tiny, QUERY, *pair) for pair in itertools.permutations(TEXTS[:5], 2)}


def test_probabilities_are_those_of_each_pair_alone(
    tiny: Path, pairs: dict[tuple[str, str], float]
) -> None:
    found = ranker(tiny).compare(QUERY, list(pairs))
    assert np.allclose(found, list(pairs.values()), atol=1e-5)
    assert len({round(value, 3) for value in pairs.values()}) > 10, (
        "the model says the same of all pairs"
    )


@pytest.mark.parametrize("how", ["sym_sum", "sym_sum_log", "copeland"])
def test_aggregation_equals_brute_force(
    tiny: Path, pairs: dict[tuple[str, str], float], how: Aggregation
) -> None:
    expected = []
    for text in TEXTS[:5]:
        score = 0.0
        for other in TEXTS[:5]:
            if other == text:
                continue
            wins, loses = pairs[text, other], pairs[other, text]
            if how == "sym_sum":
                score += wins + (1 - loses)
            elif how == "sym_sum_log":
                score += math.log(wins) + math.log(1 - loses)
            else:
                score += 1.0 if wins > loses else 0.0
        expected.append(score)
    assert np.allclose(ranker(tiny, aggregation=how).score(QUERY, TEXTS[:5]), expected, atol=1e-3)


class Oracle(DuoT5Ranker):
    """Compares by a given relevance, as a perfect model would."""

    def __init__(self, relevance: dict[str, int], **parameters: Any) -> None:
        super().__init__(prefilter=Lengths(), model="none", **parameters)
        self.relevance = relevance
        self.compared: list[tuple[str, str]] = []

    def compare(self, query: str, pairs: Sequence[tuple[str, str]]) -> Any:
        self.compared += pairs
        return np.array([0.9 if self.relevance[a] > self.relevance[b] else 0.1 for a, b in pairs])


@pytest.mark.parametrize("how", ["sym_sum", "sym_sum_log", "copeland"])
def test_the_order_is_that_of_the_comparisons(how: Aggregation) -> None:
    oracle = Oracle({text: (7 * n) % 12 for n, text in enumerate(TEXTS)}, aggregation=how)
    scores = oracle.score(QUERY, TEXTS)
    best_first = sorted(range(12), key=lambda index: -scores[index])
    assert [oracle.relevance[TEXTS[index]] for index in best_first] == list(range(11, -1, -1))
    assert len(oracle.compared) == len(set(oracle.compared)) == 132


def test_more_than_the_candidates_follow_in_the_order_of_the_prefilter() -> None:
    texts = ["x" * n for n in (3, 1, 5, 2, 4, 4, 1)]
    oracle = Oracle({text: -len(text) for text in texts}, max_candidates=3)
    scores = oracle.score(QUERY, texts)
    assert {len(text) for pair in oracle.compared for text in pair} == {
        5,
        4,
        3,
    }  # different texts are counted
    order = sorted(range(7), key=lambda index: -scores[index])
    assert [len(texts[index]) for index in order] == [3, 4, 4, 5, 2, 1, 1]
    assert scores[1] == scores[6]
    assert scores[4] == scores[5]


def test_the_prefilter_is_not_asked_for_few_texts(tiny: Path) -> None:
    lengths = Lengths()
    ranker(tiny, prefilter=lengths, max_candidates=12).score(QUERY, TEXTS)
    assert lengths.asked == 0


def test_twelve_clusters_take_132_pairs_in_few_batches_and_none_on_a_repeated_call(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from convrag_neural.t5_ranker import TrueFalseT5

    passes: list[int] = []
    real = TrueFalseT5._read_batch
    monkeypatch.setattr(
        TrueFalseT5, "_read_batch", lambda self, ids: passes.append(len(ids)) or real(self, ids)
    )
    stage = ranker(tiny)
    stage.fingerprint = "duot5"
    remember(stage, Store(tmp_path))
    first = stage.score(QUERY, TEXTS)
    assert (sum(passes), len(passes)) == (132, 1)
    assert stage.score(QUERY, TEXTS).tolist() == first.tolist()
    assert sum(passes) == 132
    stage.score(
        QUERY, [*TEXTS[3:], "steel tea"]
    )  # of other clusters, only the pairs with a new one
    assert sum(passes) == 132 + 2 * 9
    again = ranker(tiny)
    again.fingerprint = "duot5"
    remember(again, Store(tmp_path))
    assert again.score(QUERY, TEXTS[::-1]).tolist() == pytest.approx(first.tolist()[::-1])
    assert sum(passes) == 132 + 2 * 9


def test_batches_hold_what_fits_longest_first() -> None:
    assert list(make_batches([3, 9, 4, 9, 2], 9, 18)) == [[1, 3], [2, 0, 4]]
    assert list(make_batches([50, 10], 9, 20)) == [[0], [1]]
    assert list(make_batches([], 9, 20)) == []


def test_long_texts_are_cut_and_the_prompt_stays_whole(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from convrag_neural.t5_ranker import TrueFalseT5

    seen: list[list[int]] = []
    real = TrueFalseT5._read_batch
    monkeypatch.setattr(
        TrueFalseT5, "_read_batch", lambda self, ids: seen.extend(ids) or real(self, ids)
    )
    ranker(tiny, max_length=64).score("why " * 200, ["kettle " * 300, "copper\n\ncopper " * 300])
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    for ids in seen:
        text = tokenizer.decode(ids)
        assert len(ids) <= 64
        assert text.count("kettle") == text.count("copper") > 10
        assert text.replace(" ", "").endswith("Relevant:</s>")


def test_what_is_missing_is_said(tmp_path: Path, tiny: Path) -> None:
    (problem,) = DuoT5Ranker(prefilter=Lengths(), model=str(tmp_path)).check()
    assert str(tmp_path) in problem or "sentencepiece" in problem
    assert list(ranker(tiny).check()) == []


def test_another_model_is_another_ranker(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert ranker(tiny).content_hash() not in ("", ranker(tmp_path).content_hash())


@pytest.mark.slow
def test_the_first_example_of_the_readme_runs_with_a_model_on_disk_and_says_what_to_do_without(
    tiny: Path, tmp_path: Path
) -> None:
    command = ["rewriter=dhrag", "ranker=duot5", "limit=1", "tracker=none"]
    done = run_convrag([*command, f"ranker.model={tiny}"], tmp_path)
    said = [
        line for line in done.stderr.splitlines() if "Preparing ranker=duot5" not in line
    ]  # on a busy machine
    assert (done.returncode, said) == (0, [])
    assert "turns answered from" in done.stdout
    without = run_convrag(command, tmp_path)
    assert without.returncode == 2
    assert (
        "'castorini/duot5-base-msmarco' is not a folder, not in the local cache" in without.stderr
    )
    assert "give the path of a model's folder, or download it" in without.stderr
