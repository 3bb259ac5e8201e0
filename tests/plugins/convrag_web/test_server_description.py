"""The OpenAPI description: what it says of the API, and that the API does what it says
(schemathesis).
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from served import RunningServer, serve

SCHEMATHESIS = """\
# Which models and domains there are, and that the last message must be the user's, does not stand in the schema; that
# 0 is taken for false, neither; nor does the language of filters.
[[operations]]
include-name = "POST /v1/chat/completions"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404]

[[operations]]
include-name = "POST /v1/responses"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404]
[operations.checks.negative_data_rejection]
expected-statuses = ["2xx", 400, 404]

[[operations]]
include-name = "POST /api/conversations"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404]

[[operations]]
include-name = "POST /api/conversations/{conversation_id}/turns"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404, 409]

[[operations]]
include-name = "POST /api/conversations/{conversation_id}/regenerate"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404, 409]

# A new conversation has no turn in progress.
[[operations]]
include-name = "GET /api/conversations/{conversation_id}/turns"
[operations.checks.ensure_resource_availability]
enabled = false
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serve(
        tmp_path_factory.mktemp("served"), models={"one": "", "two": "generator=direct"}
    ) as running:
        yield running


def test_each_operation_is_described(server: RunningServer) -> None:
    description = server.http.get("/openapi.json").json()
    for path, operations in description["paths"].items():
        for operation in operations.values():
            assert operation["summary"]
            assert operation["description"], path
            assert {"4XX", "5XX"} <= set(operation["responses"])
            assert "422" not in operation["responses"]


@pytest.mark.slow
def test_the_api_does_what_it_says(tmp_path: Path) -> None:
    pytest.importorskip("schemathesis")
    (tmp_path / "schemathesis.toml").write_text(SCHEMATHESIS)
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    options = [
        "-n",
        "8",
        "--seed",
        "1",
        "--phases",
        "examples,coverage,fuzzing,stateful",
        "--no-color",
    ]
    with serve(tmp_path, models={"one": "", "two": "generator=direct"}, live=True) as server:
        command = [sys.executable, "-c", program, "run", f"{server.address}/openapi.json", *options]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
