"""Options and variants as configurations of Hydra's, made when they are chosen."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag.api.errors import ConfigError, PluginError
from convrag.api.hookspecs import hookimpl
from convrag.config import option_source as loading, variants as reading
from convrag.config.choices import StageParameters
from convrag.config.compose import compose
from convrag.config.variants import variants, variants_of
from convrag.registry import plugins
from convrag.registry.plugins import Plugins
from written_modules import make_modules

FILES = {
    "nodes_acme/__init__.py": "",
    "nodes_acme/stages.py": '''
from pathlib import Path
from typing import Literal
from convrag import Clusterer, LLM, Ranker, Rewriter, Store, use

class Rank(Ranker):
    """Rank somehow."""
    def __init__(self, *, model: str = "small", n: int = 3, path: Path = Path("x")) -> None:
        self.model = model
    def score(self, query, texts): ...

class Rewrite(Rewriter):
    """Rewrite somehow."""
    def __init__(self, *, llm: LLM, clusterer: Clusterer = use("lsa"), store: Store, words: int, n: float = .5,
                 order: Literal["a", "b"] = "a", names: tuple[str, ...] = ("x",)) -> None: ...
    def rewrite(self, question): ...
''',
    "nodes_acme/conf/__init__.py": "",
    "nodes_acme/conf/ranker/nodes_yaml.yaml": "# From YAML.\ndefaults:\n  - nodes_rank\n  - _self_\n\nn: 7\n",
    "nodes_acme/conf/ranker/nodes_more.yaml": "# yaml-language-server: x\n# More.\ndefaults: [nodes_yaml]\nmodel: huge",
}
STAGES = "nodes_acme.stages"


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugins]:
    """The installed plugins, and one with a ranker, a rewriter, and variants in code and in YAML."""
    make_modules(tmp_path, monkeypatch, FILES)

    @hookimpl
    def convrag_register(register: Any) -> None:
        register("ranker", "nodes_rank", f"{STAGES}:Rank")
        register("ranker", "nodes_big", f"{STAGES}:Rank", model="large")
        register("rewriter", "nodes_rewrite", f"{STAGES}:Rewrite")
        register("rewriter", "nodes_wrong", f"{STAGES}:Nothing")
        register("rewriter", "nodes_no_rewriter", f"{STAGES}:Rank")

    @hookimpl
    def convrag_config_packages() -> list[str]:
        return ["nodes_acme.conf"]

    hooks = {
        "convrag_register": convrag_register,
        "convrag_config_packages": convrag_config_packages,
    }
    installed = plugins.metadata.entry_points(group=plugins.GROUP)
    loaded = Plugins([*installed, toys.plugin("nodes_plugin", **hooks)])
    monkeypatch.setattr(plugins, "load", lambda: loaded)
    reading.yaml_files.cache_clear()
    yield loaded
    for name in [name for name in sys.modules if name.startswith("nodes_acme")]:
        del sys.modules[name]
    monkeypatch.undo()
    loading.forget()


def test_only_what_is_chosen_is_imported(acme: Plugins) -> None:
    compose("rewriter=none")
    assert STAGES not in sys.modules
    config = compose("rewriter=nodes_rewrite", "rewriter.words=3")
    assert STAGES in sys.modules
    assert (config.rewriter.words, config.rewriter.clusterer._option_) == (3, "lsa")
    assert "store" not in config.rewriter


def test_a_variant_of_a_ranker_is_a_reranker_too(acme: Plugins) -> None:
    assert {"nodes_yaml", "nodes_more"} <= set(variants("reranker"))
    for group in ("ranker", "reranker"):
        assert compose(f"{group}=nodes_big")[group].model == "large"
        config = compose(f"{group}=nodes_more", f"{group}.path=y")[group]
        assert dict(config) == {"_option_": "nodes_rank", "model": "huge", "n": 7, "path": "y"}
    described = {each.name: each for each in variants_of("reranker")}["nodes_more"]
    assert (described.group, described.extends, described.values) == (
        "reranker",
        "nodes_yaml",
        {"model": "huge"},
    )
    assert described.help == "More."
    assert described.file.endswith("ranker/nodes_more.yaml")


def test_ours_are_rerankers_without_a_copy() -> None:
    assert (
        set(variants("ranker"))
        == set(variants("reranker"))
        >= {"bge_reranker", "cross_encoder_multilingual"}
    )
    assert compose("reranker=bge_reranker").reranker == compose("ranker=bge_reranker").ranker


PROMPT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)


@pytest.mark.parametrize(
    ("name", "model", "prefixes", "max_length"),
    [
        ("qwen3", "Qwen/Qwen3-Embedding-0.6B", (PROMPT, ""), 8192),
        ("qwen3_4b", "Qwen/Qwen3-Embedding-4B", (PROMPT, ""), 8192),
        ("bge_m3", "BAAI/bge-m3", ("", ""), 8192),
        ("e5", "intfloat/multilingual-e5-small", ("query: ", "passage: "), 512),
        (
            "embedding_gemma",
            "google/embeddinggemma-300m",
            ("task: search result | query: ", "title: none | text: "),
            2048,
        ),
        ("granite", "ibm-granite/granite-embedding-small-english-r2", ("", ""), 8192),
        (
            "granite_multilingual",
            "ibm-granite/granite-embedding-97m-multilingual-r2",
            ("", ""),
            8192,
        ),
    ],
)
def test_embedders_of_today_are_used_as_their_cards_say(
    name: str, model: str, prefixes: tuple[str, str], max_length: int
) -> None:
    embedder = compose(f"embedder={name}").embedder
    assert embedder.model == model
    assert (embedder.query_prefix, embedder.passage_prefix) == prefixes
    assert embedder.max_length == max_length


def test_rankers_of_today() -> None:
    qwen3 = compose("reranker=qwen3_reranker").reranker
    assert qwen3.query_template.endswith("\n<Query>: {query}\n")
    assert qwen3.query_template.startswith("<|im_start|>system\nJudge whether")
    assert '"yes" or "no".<|im_end|>\n<|im_start|>user\n' in qwen3.query_template
    assert qwen3.text_template.startswith("<Document>: {text}<|im_end|>\n<|im_start|>assistant\n")
    jina = compose("reranker=jina_reranker").reranker
    assert (jina.api_base, jina.api_key_env) == ("https://api.jina.ai/v1", "JINA_API_KEY")
    assert compose("reranker=mxbai_rerank").reranker.model == "mixedbread-ai/mxbai-rerank-base-v1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nodes_wrong", "rewriter=nodes_wrong: nodes_acme.stages:Nothing cannot be imported"),
        ("nodes_no_rewriter", "no subclass of convrag.Rewriter"),
    ],
)
def test_what_is_no_option_says_so_when_it_is_chosen(
    acme: Plugins, name: str, message: str
) -> None:
    with pytest.raises(PluginError, match=message):
        compose(f"rewriter={name}")
    assert compose("rewriter=none")


def test_a_wrong_parameter_is_explained_whatever_other_options_are(acme: Plugins) -> None:
    with pytest.raises(
        ConfigError,
        match=r"rewriter.words belongs to rewriter=dhrag, rewriter=nodes_rewrite, rewriter=themes\.",
    ):
        compose("rewriter=none", "rewriter.words=3")


@pytest.mark.parametrize(
    "overrides",
    [
        ["rewriter=nodes_rewrite", "rewriter.words=3", "rewriter.clusterer=kmeans"],
        ["rewriter=nodes_rewrite", "rewriter.words=3", "+clusterer@rewriter.clusterer=kmeans"],
    ],
)
def test_a_stage_for_a_stage_is_known_from_the_chosen_class(
    overrides: list[str], acme: Plugins
) -> None:
    assert compose(*overrides).rewriter.clusterer._option_ == "kmeans"


def test_a_plain_parameter_of_another_option_imports_no_class(acme: Plugins) -> None:
    assert compose("rewriter=last_n", "rewriter.n=3").rewriter.n == 3
    assert STAGES not in sys.modules


def test_without_a_choice_every_class_of_the_group_is_asked(acme: Plugins) -> None:
    """A preset, say, chooses the option, and the command line does not name it."""
    parameters = StageParameters(acme.registry)
    clusterer = parameters.find_parameter("rewriter", "clusterer")
    assert clusterer is not None
    assert clusterer.group == "clusterer"
    assert parameters.follow("rewriter.clusterer.n") == ("clusterer", ["n"])
    assert parameters.find_parameter("rewriter", "nothing_has_this") is None
