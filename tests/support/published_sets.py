"""Files of published data sets in small."""

import json
from pathlib import Path
from typing import Any

import pytest

from convrag.testing import DatasetContract


class PublishedContract(DatasetContract):
    """The contract of a set whose files a fixture writes into a folder."""

    fixture = "copy"
    path: Path

    @pytest.fixture(autouse=True)
    def _files(self, request: pytest.FixtureRequest) -> None:
        self.path = request.getfixturevalue(self.fixture)


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = (
        line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines
    )
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path
