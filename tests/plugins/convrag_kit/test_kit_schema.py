"""The JSON schema of the configuration: it takes every YAML of ours, and no misspelt one."""

import json
import re

import pytest
import yaml
from jsonschema import Draft7Validator
from omegaconf import OmegaConf

from convrag.config.compose import compose, use_folder
from places import ROOT
from tasks import run_task

PLUGIN = """
from dataclasses import dataclass
from enum import Enum
from convrag import Rewriter, hookimpl

class Order(Enum):
    first = 1
    last = 2

@dataclass(frozen=True)
class Rule:
    words: int = 3
    name: str = "all"

class Topic(Rewriter):
    \"\"\"Search for the topic.

    Args:
        words: of each answer.
    \"\"\"
    def __init__(
        self, *, words: int = 3, most: int = 5, order: Order = Order.first, rules: list[Rule] = []
    ) -> None: ...
    def rewrite(self, question): ...

@hookimpl
def convrag_register(register):
    register("rewriter", "acme_topic", Topic)
    register("rewriter", "related", Topic, words=5)
"""


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    """What the command writes beside a plugin of somebody else, and a variant of the user's own."""
    folder = tmp_path_factory.mktemp("schema")
    (folder / "acme.py").write_text(PLUGIN)
    (folder / "mine/rewriter").mkdir(parents=True)
    (folder / "mine/rewriter/brief.yaml").write_text("defaults: [acme_topic, _self_]\nwords: 1\n")
    use_folder(str(folder / "mine"), None)
    try:
        done = run_task(
            ["plugins=[acme.py]", "task=plugins", "task.schema=conf.schema.json"], folder
        )
    finally:
        use_folder(None, None)
    assert done.returncode == 0
    assert "# yaml-language-server: $schema=" in done.stdout
    written = json.loads((folder / "conf.schema.json").read_text())
    Draft7Validator.check_schema(written)
    return written


def find_mistakes(schema, text, group=""):
    """What the schema, or its part for the variants of a group, has against a YAML file."""
    part = (
        {"definitions": schema["definitions"], "allOf": [{"$ref": f"#/definitions/{group}"}]}
        if group
        else schema
    )
    return [error.message for error in Draft7Validator(part).iter_errors(yaml.safe_load(text))]


def list_yaml():
    """Each YAML file of conf/ and each block in the pages, with the group whose variant it is."""
    for file in sorted((ROOT / "conf").rglob("*.yaml")):
        if "hydra" not in file.parts:
            yield str(file.relative_to(ROOT)), file.read_text(), file.parent.name
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.S | re.M):
            group = re.match(r"# (\w+)=", block)
            yield page.name, block, group[1] if group else ""


def test_every_yaml_of_ours_is_valid(schema):
    found = list(list_yaml())
    assert len(found) > 30
    assert {name for name, _, _ in found} >= {"grids.md", "plugins.md", "tutorial.md"}
    mistakes = {
        n: find_mistakes(schema, t, g if g in schema["definitions"] else "") for n, t, g in found
    }
    assert {name: each for name, each in mistakes.items() if each} == {}


def test_a_whole_configuration_is_valid(schema):
    assert (
        find_mistakes(schema, OmegaConf.to_yaml(compose("rewriter=dhrag", "generator=chat"))) == []
    )


@pytest.mark.parametrize(
    "text",
    [
        "defaults: [{override /rewriter: brief}]",
        "rewriter: {words: 2, order: last, rules: [{words: 1, name: 2024}]}",
        "rewriter: {words: '${oc.env:WORDS}'}",
        "rewriter: {embedder: words, clusterer: {k: 3}}",
        "defaults: [{/embedder@rewriter.embedder: minilm}, {override hydra/launcher: joblib}, {/system: mmr}]",
        "dataset: {path: 2024}",
    ],
)
def test_what_may_be_written(schema, text):
    assert find_mistakes(schema, text) == []


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("defaults: [{override /rewriter: dhragg}]", ""),
        ("defaults: [{override /rewritter: dhrag}]", ""),
        ("topk: 5", ""),
        ("top_k: many", ""),
        ("store: {pth: here}", ""),
        ("rewriter: {aplha: 0.5}", ""),
        ("rewriter: {words: 2, num_sentences: 3}", ""),  # no option has both
        ("rewriter: {order: middle}", ""),
        ("rewriter: {rules: [{words: many}]}", ""),
        ("rewriter: {embedder: wrds}", ""),
        ("metrics: {rankng: {}}", ""),
        ("{defaults: [dhragg, _self_], top_k: 3}", "rewriter"),
        ("{defaults: [dhrag, _self_], alhpa: 3}", "rewriter"),
        ("{defaults: [mmr, _self_], num_sentences: 0}", "rewriter"),
    ],
)
def test_a_mistake_is_found(schema, text, group):
    assert find_mistakes(schema, text, group)


def test_true_names_the_usual_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_task(["task=plugins", "task.schema=true"], tmp_path).returncode == 0
    schema = json.loads((tmp_path / "conf.schema.json").read_text(encoding="utf-8"))
    assert schema["title"] == "convrag"
    assert [path.name for path in tmp_path.glob("*.json")] == ["conf.schema.json"]
