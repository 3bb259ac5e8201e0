"""The commands of docs/growing.md name what is there; compose.yaml is what they start."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from convrag.config.compose import compose

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/growing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
LINES = [line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
COMMANDS = [line for line in LINES if line.startswith("python -m convrag ") and "convrag -m " not in line]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_composes(command: str) -> None:
    assert compose(*shlex.split(command)[3:]).retriever._option_


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 8


def test_the_cluster_to_try_is_for_this_machine_alone() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    (service,) = services.values()
    assert service["environment"]["xpack.security.enabled"] == "false"
    assert service["ports"] == ["127.0.0.1:9200:9200"], "without passwords it must not be reached from elsewhere"
    assert service["environment"]["xpack.license.self_generated.type"] == "trial"
    assert service["environment"]["xpack.ml.enabled"] == "true"
