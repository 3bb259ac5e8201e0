"""A key that nothing reads is refused with a guess, wherever it comes from."""

from pathlib import Path

import pytest

from convrag import ConfigError, Pipeline
from convrag.config.compose import compose, read_settings
from tasks import run_here


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("+sysem=mmr", ["'sysem' does not exist", "Did you mean '+system'?"]),
        ("+rewriters=foo", ["'rewriters' does not exist", "Did you mean 'rewriter'?"]),
        ("++topk=3", ["'topk' does not exist", "Did you mean 'top_k'?"]),
        (
            "+experiment=small",
            ["'experiment' does not exist", "--config-dir=FOLDER", "FOLDER/experiment/NAME.yaml"],
        ),
        ("+foo.bar=1", ["'foo' does not exist"]),
        ("+store.foo=1", ["setting 'store.foo' does not exist", "store.path"]),
        (
            "+clusterer.componets=1",
            ["clusterer=lsa: parameter 'componets'", "Did you mean 'components'?"],
        ),
        ("+rewriter.llm.foo=1", ["rewriter.llm"]),
        (
            "+metrics.ranking.foo=1",
            ["metrics.ranking=ranking: parameter 'foo' does not exist", "measures"],
        ),
        ("~top_k", ["~top_k: a setting cannot be deleted", "top_k=..."]),
        ("~store", ["~store: a setting cannot be deleted"]),
        ("limit=99999999999999999999", ["limit=99999999999999999999: it must be at most"]),
        ("store.path=", ["store.path=: name a folder"]),
        ("rewriter=[mmr,dhrag]", ["a run has one rewriter", "-m rewriter=mmr,dhrag"]),
    ],
)
def test_a_key_that_nothing_reads_is_refused(override: str, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(compose(override))
    assert "\n" not in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "top_k"),
    [
        (["+depth=3", "top_k=${depth}"], 3),
        (["+my.depth=3", "top_k=${oc.select:my.depth,5}"], 3),
        (["llm=gpt4", "+llm.extra.num_ctx=1"], 10),
        (["hydra.job.name=x"], 10),
        (["+hydra.sweep.foo=x"], 10),
        (["+embedder@rewriter.embedder=lsa", "rewriter=mmr"], 10),
        (["+system=mmr"], 5),
    ],
)
def test_what_something_reads_is_accepted(overrides: list[str], top_k: int) -> None:
    config = compose(*overrides)
    assert read_settings(config).top_k == top_k


def test_only_the_chosen_options_parameters_are_offered() -> None:
    with pytest.raises(ConfigError) as caught:
        compose("rewriter=last_n", "rewriter.kk=3")
    assert (
        str(caught.value)
        == "rewriter=last_n: parameter 'kk' does not exist. Choose from: answers, n."
    )


def test_messages_say_what_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"^llm=claude: parameter 'foo' does not exist"):
        compose("llm=claude", "llm.foo=1")
    with pytest.raises(Exception, match=r"^llm=claude: ANTHROPIC_API_KEY is not set"):
        Pipeline.compose("llm=claude")


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (
            ["dataset=mtrag"],
            ["dataset=mtrag needs dataset.path=...", "corpora/", "github.com/IBM/mt-rag-benchmark"],
        ),
        (["llm=litellm"], ["llm=litellm needs llm.model=...", "openai/gpt-4o"]),
        (["retriever=run"], ["retriever=run needs retriever.path=...", "*.trec"]),
        (["llm=replay"], ["llm=replay needs llm.path=...", "the recording"]),
    ],
)
def test_what_is_required_is_said_with_what_it_is(overrides: list[str], parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        Pipeline.compose(*overrides)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("+store.foo=1", "setting 'store.foo' does not exist"),
        ("++store.foo=1,2", "setting 'store.foo' does not exist"),
        ("+store.foo.bar={a: 1}", "setting 'store.foo' does not exist"),
        ("+sweep.foo=1", "setting 'sweep.foo' does not exist"),
        ("+sysem=mmr,dhrag", "'sysem' does not exist"),
        ("+workers.foo=1", "workers="),
        ("+tracker.foo=1", "parameter 'foo' does not exist"),
        ("+rewriter.foo=1,2", "parameter 'foo' does not exist"),
        ("+metrics.foo=1", "metrics.foo: this chooses no option of metrics"),
        ("++metrics.foo.bar=1,2", "metrics.foo: this chooses no option of metrics"),
        ("+metrics.ranking.foo=1", "parameter 'foo' does not exist"),
        ("sweep.sample=-1", "sweep.sample=-1: it must be at least 1"),
        ("sweep.sample=0", "sweep.sample=0: it must be at least 1"),
        (f"+{'x' * 256}=1", "xxx...: a key has at most 255 characters, and this one has 256"),
        (f"+llm.extra.{'x' * 300}=1,2", "xxx...: a key has at most 255 characters"),
    ],
)
def test_a_grid_refuses_it_as_a_run_does(override: str, part: str, tmp_path: Path) -> None:
    """In one line, before the first cell, and nothing is written."""
    done = run_here(["-m", "rewriter=last_n,none", "limit=1", "tracker=none", override], tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert part in line
    assert not list(tmp_path.iterdir())
