"""The commands of docs/elasticsearch.md and docs/growing.md name what is there; compose.yaml is
what they start.
"""

import re
import shlex

import pytest
import yaml

from convrag.config.compose import compose
from places import ROOT

PAGE = "\n".join(
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("growing.md", "elasticsearch.md")
)
BLOCKS = re.findall(r"^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
LINES = [line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
COMMANDS = [
    line for line in LINES if line.startswith("python -m convrag ") and "convrag -m " not in line
]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_composes(command: str) -> None:
    assert compose(*shlex.split(command)[3:]).retriever._option_


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 8


def test_the_clusters_to_try_are_for_this_machine_alone() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    ports = {name: each["ports"] for name, each in services.items() if "ports" in each}
    reachable = {
        "convrag": ["127.0.0.1:8642:8642"],
        "elasticsearch": ["127.0.0.1:9200:9200"],
        "opensearch": ["127.0.0.1:9201:9200"],
    }
    assert ports == reachable, "they must not be reached from elsewhere"
    elastic = services["elasticsearch"]["environment"]
    assert (elastic["xpack.license.self_generated.type"], elastic["xpack.ml.enabled"]) == (
        "trial",
        "true",
    )
