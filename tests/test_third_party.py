"""Plugins of others: the documented example, broken ones, and ones that want a name which is taken."""

import json
from pathlib import Path

import pytest

from commands import drop_progress
from third_party import Environment

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[1] / "docs/examples/acme"

REGISTER = """
from convrag import hookimpl, Rewrite, Rewriter

class Mine(Rewriter):
    "Says so."
    def rewrite(self, question):
        return Rewrite.of("mine " + question.text)

@hookimpl
def convrag_register(register):
    register("rewriter", "{name}", Mine)
"""


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def records(environment: Environment) -> list[dict[str, object]]:
    (path,) = environment.work.glob("outputs/2*/*/intermediate/*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_example_runs_with_its_yaml_and_its_clusterer(environment: Environment) -> None:
    environment.install_project(EXAMPLE)
    done = environment.convrag(
        "rewriter=acme_brief", "clusterer=acme_length", "clusterer.step=20", "rewriter.order=oldest", "limit=2"
    )
    assert done.returncode == 0, done.stderr
    assert drop_progress(done.stderr) == ""
    assert any(record["trace"]["rewriter"]["related"] for record in records(environment))  # type: ignore[index]


def test_the_example_is_listed_and_its_mistakes_are_explained(environment: Environment) -> None:
    environment.install_project(EXAMPLE)
    shown = environment.convrag("--help").stdout
    assert "acme_topic" in shown
    assert "acme_brief" in shown
    assert "convrag-acme 0.1.0" in environment.convrag("task=plugins", "task.stage=clusterer").stdout
    wrong = environment.convrag("rewriter=acme_topic", "rewriter.order=youngest")
    assert wrong.returncode == 2
    assert "rewriter.order: value 'youngest' does not exist. Choose from: newest, oldest" in " ".join(
        wrong.stderr.replace("Did you mean 'oldest'? ", "").replace("Did you mean 'newest'? ", "").split()
    )


def test_the_example_passes_its_own_contracts(environment: Environment) -> None:
    environment.install_project(EXAMPLE)
    done = environment.python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests"))
    assert done.returncode == 0, done.stdout


def test_a_yaml_file_does_not_replace_an_option_either(environment: Environment) -> None:
    hook = "from convrag import hookimpl\n@hookimpl\ndef convrag_config_packages():\n    return ['sly.conf']\n"
    environment.install(
        "sly",
        {
            "sly/__init__.py": hook,
            "sly/conf/__init__.py": "",
            "sly/conf/rewriter/none.yaml": "defaults:\n  - last_n\n  - _self_\n",
        },
    )
    chosen = environment.convrag("rewriter=none", "limit=1")
    assert chosen.returncode == 2
    assert "rewriter=none is claimed by two distributions, convrag and sly-dist" in chosen.stderr


def test_an_observer_is_called_and_may_fail(environment: Environment) -> None:
    body = """
from pathlib import Path
from convrag import hookimpl

@hookimpl
def convrag_turn_finished(record):
    with Path("seen.txt").open("a") as file:
        file.write(record.turn_id + "\\n")

@hookimpl
def convrag_run_finished(run, summary):
    raise ValueError("the observer fell over")
"""
    environment.install("watcher", {"watcher.py": body})
    done = environment.convrag("limit=1")
    assert done.returncode == 0, done.stderr
    turns = (environment.work / "seen.txt").read_text().splitlines()
    assert turns == [record["turn_id"] for record in records(environment)]
    assert "the observer fell over" in done.stderr


def test_a_stage_that_raises_costs_its_turns(environment: Environment) -> None:
    body = """
from convrag import hookimpl, Generator, Answer

class Moody(Generator):
    "Fails for every second turn."
    def generate(self, question, evidence):
        if question.number % 2 == 0:
            raise KeyError("mood")
        return Answer("fine")

@hookimpl
def convrag_register(register):
    register("generator", "moody", Moody)
"""
    environment.install("moody", {"moody.py": body})
    done = environment.convrag("generator=moody", "limit=2")
    assert done.returncode == 3, done.stderr
    failed = [record for record in records(environment) if record["error"]]
    assert 0 < len(failed) < len(records(environment))
    assert f"{len(failed)} turns failed" in done.stdout
    assert len(done.stderr.strip().splitlines()) == 1, "the same reason is shown once"


def test_a_task_gets_the_stages_that_it_names(environment: Environment) -> None:
    body = """
from convrag import Dataset, Task, hookimpl

class Count(Task):
    "Counts turns."
    def __init__(self, *, dataset: Dataset):
        self.dataset = dataset
    def execute(self, config, folder):
        print(sum(len(conversation.turns) for conversation in self.dataset.conversations()))
        return 0

@hookimpl
def convrag_register(register):
    register("task", "count", Count)
"""
    environment.install("counter", {"counter.py": body})
    done = environment.convrag("task=count")
    assert (done.returncode, done.stdout, done.stderr) == (0, "49\n", "")
    assert not list(environment.work.glob("outputs/*")), "a task that writes nothing leaves nothing"


# Everything at once: a distribution with five kinds of things, beside four that are broken in different ways -----

ZOO = {
    "zoo/__init__.py": '''
"""An embedder, a rewriter with two language models of its own, a clusterer, a metric and an observer."""

from convrag import hookimpl
from zoo.parts import AnswerLength, BigramEmbedder, FirstWordClusterer, SecondOpinionRewriter


@hookimpl
def convrag_register(register):
    register("embedder", "zoo_bigrams", BigramEmbedder)
    register("rewriter", "zoo_second_opinion", SecondOpinionRewriter)
    register("clusterer", "zoo_first_word", FirstWordClusterer)
    register("metrics", "zoo_length", AnswerLength)


@hookimpl
def convrag_config_packages():
    return ["zoo.conf"]


@hookimpl
def convrag_run_finished(run, summary):
    (run.folder / "zoo.txt").write_text(f"{summary.turns} turns")
''',
    "zoo/parts.py": '''
from convrag import LLM, Clusterer, Embedder, Message, Metrics, Prompt, Rewrite, Rewriter, use


class BigramEmbedder(Embedder):
    """Pairs of letters, hashed into columns.

    Args:
        width: columns.
    """

    def __init__(self, *, width: int = 128) -> None:
        self.width = width

    def embed(self, texts, *, query=False):
        import numpy as np

        rows = np.zeros((len(texts), self.width), dtype=np.float32)
        for row, text in zip(rows, texts):
            for pair in zip(text, text[1:]):
                row[(ord(pair[0]) * 31 + ord(pair[1])) % self.width] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


class SecondOpinionRewriter(Rewriter):
    """Ask two language models, and search for what both say.

    Args:
        llm: is asked first.
        critic: is asked too.
        weight: of the critic's query.
    """

    def __init__(self, *, llm: LLM, critic: LLM = use("extractive"), weight: float = 0.5) -> None:
        self.llm, self.critic, self.weight = llm, critic, weight

    def rewrite(self, question):
        inputs = {"question": question.text, "history": [
            {"user": turn.question, "assistant": turn.answer} for turn in question.history]}
        prompt = Prompt("rewrite", (Message("user", f"Make this stand alone: {question.text}"),), inputs)
        first, second = (llm.complete(prompt).text for llm in (self.llm, self.critic))
        both = Rewrite.of(first, models=[type(self.llm).__name__, type(self.critic).__name__])
        more = type(both.queries[0])(second, self.weight)
        return Rewrite((*both.queries, more), both.trace)


class FirstWordClusterer(Clusterer):
    """By first words."""

    def cluster(self, texts, embedder):
        import numpy as np

        words = [(text.split() or [""])[0].casefold() for text in texts]
        known = list(dict.fromkeys(words))
        return np.array([known.index(word) for word in words], dtype=np.int64)


class AnswerLength(Metrics):
    """Words of the answers.

    Args:
        cited: only those of answers that cite something.
    """

    def __init__(self, *, cited: bool = False) -> None:
        self.cited = cited

    def measure(self, records):
        counted = [record for record in records if record.answer.citations or not self.cited]
        return {record.turn_id: {"zoo_words": float(len(record.answer.text.split()))} for record in counted}
''',
    "zoo/conf/__init__.py": "",
    "zoo/conf/embedder/zoo_wide.yaml": "# wide\ndefaults:\n  - zoo_bigrams\n  - _self_\n\nwidth: 1024\n",
    "zoo/conf/rewriter/zoo_strict.yaml": (
        "# two opinions of one weight\ndefaults:\n  - zoo_second_opinion\n  - _self_\n\nweight: 1.0\n"
    ),
}

BROKEN = {
    "falls": "raise RuntimeError('it fell at import')",
    "misspelt": (
        "from convrag import hookimpl\n@hookimpl\ndef convrag_run_finnished(run, summary):\n    raise AssertionError\n"
    ),
    "taker": REGISTER.format(name="threshold"),
    "lacking": "import a_library_that_is_not_there",
}

NEEDY = """
from convrag import hookimpl, Rewrite, Rewriter

class Needy(Rewriter):
    "Needs what is not there."

    requires = {"a_library_that_is_not_there": "zoo[all]"}

    def __init__(self) -> None:
        import a_library_that_is_not_there

    def rewrite(self, question):
        return Rewrite.of(question.text)

@hookimpl
def convrag_register(register):
    register("rewriter", "needy", Needy)
"""


@pytest.fixture
def crowd(environment: Environment) -> Environment:
    environment.install("zoo", ZOO)
    for name, body in BROKEN.items():
        environment.install(name, {f"{name}.py": body})
    environment.install("needy", {"needy.py": NEEDY})
    return environment


def test_all_at_once_each_broken_one_costs_a_line_and_the_rest_works(crowd: Environment) -> None:
    done = crowd.convrag(
        "rewriter=zoo_strict",
        "+llm@rewriter.llm=extractive",
        "embedder=zoo_wide",
        "retriever=dense",
        "clusterer=zoo_first_word",
        "metrics=[ranking,zoo_length]",
        "metrics.zoo_length.cited=true",
        "limit=2",
    )
    assert done.returncode == 0, done.stderr
    lines = done.stderr.strip().splitlines()
    parts = [
        "it fell at import",
        "Did you mean 'convrag_run_finished'?",
        "rewriter=threshold is claimed",
        "No module named",
    ]
    assert [sum(part in line for line in lines) for part in parts] == [1, 1, 1, 1]
    assert len(lines) == len(parts)
    assert "zoo_words" in done.stdout
    assert [file.read_text()[-5:] for file in crowd.work.glob("outputs/2*/*/zoo.txt")] == ["turns"]
    queries = [record["queries"] for record in records(crowd)]
    assert {len(query) for query in queries} == {2}
    traces = [record["trace"]["rewriter"]["models"] for record in records(crowd)]  # type: ignore[index]
    assert traces[0] == ["ExtractiveLLM", "ExtractiveLLM"]


def test_a_grid_of_theirs_and_ours(crowd: Environment) -> None:
    rewriters = "rewriter=zoo_second_opinion,zoo_strict,dhrag"
    done = crowd.convrag("-m", rewriters, "embedder=zoo_bigrams,lsa", "generator=none", "limit=1")
    assert done.returncode == 0, done.stderr
    assert len(list(crowd.work.glob("outputs/sweeps/*/*/metrics.json"))) == 4
    assert "embedder made no difference to 4 cells: no stage of theirs uses it" in done.stderr


def test_what_is_needed_taken_or_broken_is_told_when_it_is_chosen(crowd: Environment) -> None:
    for chosen, message in (
        ("needy", "rewriter=needy needs a_library_that_is_not_there, which is not installed: pip install 'zoo[all]'"),
        ("threshold", "rewriter=threshold is claimed by two distributions, convrag and taker-dist"),
    ):
        done = crowd.convrag(f"rewriter={chosen}")
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_task_plugins_tells_the_state_of_each(crowd: Environment) -> None:
    done = crowd.convrag("task=plugins", "task.json=true")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    options = {(each["group"], each["name"]): each for each in told["options"]}
    assert options["rewriter", "zoo_second_opinion"]["module"] == "zoo.parts:SecondOpinionRewriter"
    assert options["rewriter", "zoo_second_opinion"]["file"].endswith("site/zoo/parts.py")
    strict = options["rewriter", "zoo_strict"]
    assert (strict["distribution"], strict["version"], strict["state"]) == ("zoo-dist", "1.0", "ready")
    assert (strict["extends"], strict["values"]) == ("zoo_second_opinion", {"weight": 1.0})
    parameters = {each["name"]: (each["type"], each["default"]) for each in strict["parameters"]}
    assert parameters == {
        "llm": ("llm stage", "the run's"),
        "critic": ("llm stage", "extractive"),
        "weight": ("float", "0.5"),
    }
    assert options["rewriter", "needy"]["state"] == "needs"
    assert "zoo[all]" in options["rewriter", "needy"]["message"]
    assert options["rewriter", "threshold"]["state"] == "claimed"
    assert {each["distribution"] for each in told["failures"]} == {
        "falls-dist",
        "misspelt-dist",
        "taker-dist",
        "lacking-dist",
    }
    shown = " ".join(crowd.convrag("task=plugins", "task.stage=rewriter").stdout.split())
    assert "needy needy-dist 1.0 (needy:Needy) needs Needs what is not there." in shown
    assert "weight: float = 0.5 of the critic's query." in shown
    assert "RuntimeError: it fell at import" in shown


def test_the_doctor_warns_of_them_and_goes_on(crowd: Environment) -> None:
    done = crowd.convrag("task=doctor")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("\n  warn ") == 4


def test_they_may_be_left_out(crowd: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONVRAG_DISABLE_PLUGINS", "falls,misspelt-dist,taker,lacking")
    done = crowd.convrag("rewriter=threshold", "limit=1", "generator=none")
    assert done.returncode == 0, done.stderr
    assert drop_progress(done.stderr) == ""
