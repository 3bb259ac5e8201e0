"""A password or a key in a configuration is refused before anything is written; a reference to it
stays one.
"""

import os
from pathlib import Path

import pytest
import yaml

from commands import LIBRARIES, run_convrag
from convrag import ConfigError, Pipeline
from convrag.api.secrets import describe_secret, is_secret_name, redact
from convrag.config.compose import compose
from convrag.config.yaml_files import user_folder
from secret_search import find_secrets

PASSWORD = "S3cretPassw0rd"
KEY = "sk-proj-planted4Cx9Tz0123456789"
HELD = "held-by-the-environment-77"
SECRETS = (PASSWORD, KEY, HELD)
ENVIRONMENT = {
    **os.environ,
    "PYTHONWARNINGS": "ignore",
    "OPENAI_API_KEY": HELD,
    "MY_SERVER": f"http://bob:{PASSWORD}@127.0.0.1:9/v1",
    "PLAIN": PASSWORD,
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
}
URL = f"http://bob:{PASSWORD}@127.0.0.1:9/v1"
SERVER = ("llm=openai_compatible", "llm.model=openai/x")
QUICK = ("limit=1", "rewriter=none", "generator=none")
FILES = {
    "seed/locked.yaml": f"# @package _global_\nllm:\n  api_base: {URL}\n",
    "llm/gateway.yaml": f"defaults:\n  - openai_compatible\n  - _self_\nmodel: openai/x\napi_base: {URL}\n",
    "llm/header.yaml": "defaults:\n  - openai_compatible\n  - _self_\nmodel: openai/x\n"
    f"extra:\n  extra_headers:\n    Authorization: Bearer {KEY}\n",
    "tracker/team.yaml": f"defaults:\n  - mlflow\n  - _self_\nuri: postgresql://bob:{PASSWORD}@127.0.0.1/db\n",
    "sweep/two.yaml": f"# @package _global_\nhydra:\n  sweeper:\n    params:\n      +note: a,{URL}\n",
    "mine.yaml": f"defaults:\n  - config\n  - _self_\ntracker:\n  uri: postgresql://bob:{PASSWORD}@127.0.0.1/db\n",
}

OVERRIDES: list[tuple[str, tuple[str, ...]]] = [
    ("llm.api_base", (*SERVER, f"llm.api_base={URL}")),
    ("llm.apibase", (*SERVER, f"llm.apibase={URL}")),
    ("llm.api_base", (*SERVER, f"llm.api_base={URL}", "nonsense==,")),
    ("llm.api_base", (*SERVER, f"llm.api_base={{{URL}")),
    ("llm.api_key_env", (*SERVER, f"llm.api_key_env={KEY}")),
    (
        "llm.api_key",
        ("task=chat", "llm=litellm", f"llm.api_key={KEY}"),
    ),  # the command to go on would show it
    ("llm.extra.my_key", (*SERVER, f"+llm.extra.my_key={PASSWORD}")),
    (
        "llm.extra.extra_headers.x-api-key",
        (*SERVER, f"llm.extra={{extra_headers: {{x-api-key: {PASSWORD}}}}}"),
    ),
    (
        "llm.extra.extra_headers.X-Team",
        (*SERVER, f"llm.extra={{extra_headers: {{X-Team: {PASSWORD}}}}}"),
    ),
    (
        "llm.extra.extra_headers.X-Team",
        (*SERVER, f"llm.extra={{extra_headers: {{X-Team: '${{oc.env:TEAM,{PASSWORD}}}'}}}}"),
    ),
    (
        "llm.extra.extra_headers.X-Team",
        (*SERVER, f"llm.extra={{extra_headers: {{X-Team: '{PASSWORD}${{oc.env:TEAM}}'}}}}"),
    ),
    (
        "embedder.extra.extra_headers.a",
        ("embedder=openai_compatible", "+embedder.extra.extra_headers.a=77"),
    ),
    ("llm.extra.foo", (*SERVER, f"+llm.extra.foo={HELD}")),
    ("llm", (f"llm={KEY}",)),
    ("***", (KEY,)),
    ("***", (f"{KEY}=1",)),
    ("note", (f"+note=[1,'{URL}']",)),
    ("note.password", (f"+note.password={PASSWORD}",)),
    ("hydra.run.dir", (f"hydra.run.dir=out/{KEY}",)),
    ("hydra.job.env_set.MY_API_KEY", (f"+hydra.job.env_set.MY_API_KEY={PASSWORD}",)),
    ("llm.api_base", (*SERVER, "+seed=locked")),
    ("llm.api_base", ("llm=gateway",)),
    ("llm.extra.extra_headers.Authorization", ("llm=header",)),
    ("tracker.uri", ("tracker=team",)),
    ("hydra.sweeper.params.+note", ("+sweep=two",)),
]
COMMANDS: list[tuple[str, tuple[str, ...]]] = [
    ("llm.api_base", ("-m", *SERVER, f"llm.api_base=choice(http://127.0.0.1:9,'{URL}')")),
    ("llm.api_base", ("task=doctor", *SERVER, f"llm.api_base={URL}")),
    ("tracker.uri", ("--config-dir", "conf_of_mine", "-m", "top_n=1,2", "tracker=team")),
    ("tracker.uri", ("--config-dir", "conf_of_mine", "--config-name", "mine", *QUICK)),
]
"""The option that the message names, and the command."""


@pytest.fixture(autouse=True)
def _forget_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convrag.api.secrets._noted", set())


def write_files(folder: Path) -> list[Path]:
    paths = []
    for name, text in FILES.items():
        path = folder / "conf_of_mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(path)
    return paths


@pytest.mark.parametrize(("option", "overrides"), OVERRIDES, ids=lambda value: None)
def test_a_secret_is_refused_and_not_repeated(
    option: str, overrides: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path)
    monkeypatch.setattr(user_folder, "path", tmp_path / "conf_of_mine")
    monkeypatch.setenv("OPENAI_API_KEY", HELD)
    with pytest.raises(ConfigError) as raised:
        compose(*overrides)
    said = str(raised.value)
    assert said.startswith(f"{option} ")
    assert "a run writes its configuration into files" in said
    assert not any(secret in said for secret in SECRETS)


@pytest.mark.slow
@pytest.mark.parametrize(("option", "arguments"), COMMANDS, ids=lambda value: None)
def test_a_secret_in_a_command_or_a_file_is_refused_and_nothing_is_written(
    option: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    planted = write_files(tmp_path)
    done = run_convrag(arguments, tmp_path, environment=ENVIRONMENT)
    assert done.returncode == 2, done.stdout + done.stderr
    assert find_secrets(tmp_path, done, SECRETS, planted=planted) == []
    assert done.stderr.startswith(f"convrag: {option} "), done.stderr
    assert "a run writes its configuration into files" in done.stderr
    assert "environment variable" in done.stderr or "OPENAI_API_KEY" in done.stderr
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["conf_of_mine"]


PLUGIN = """
from typing import Any
from convrag import Rewrite, Rewriter, hookimpl

class Noting(Rewriter):
    "Takes anything, and keeps the question."
    def __init__(self, *, word: str = "", words: dict[str, Any] = {}, number: int = 1, raises: bool = False) -> None:
        self.word = word
        self.raises = raises
    def rewrite(self, question):
        if self.raises:
            raise ValueError(f"this is no word: {self.word}")
        return Rewrite.of(question.text)

@hookimpl
def convrag_register(register):
    register("rewriter", "noting", Noting)
"""
NOTING = ("plugins=[noting.py]", "rewriter=noting", "limit=1", "generator=none")
REFERENCES: list[tuple[int, tuple[str, ...]]] = [
    (0, (*NOTING, "rewriter.word=${oc.env:PLAIN}")),
    (0, ("-m", *NOTING, "rewriter.word=a,${oc.env:MY_SERVER}")),
    (
        3,
        (
            "-m",
            "top_n=1,2",
            *NOTING,
            "rewriter.raises=true",
            "rewriter.word=${oc.env:OPENAI_API_KEY}",
        ),
    ),
    (0, ("--cfg", "job", "--resolve", *NOTING, "rewriter.word=${oc.env:OPENAI_API_KEY}")),
    (0, ("task=doctor", *NOTING, "rewriter.word=${oc.env:PLAIN}")),
    (2, (*NOTING, "rewriter.number=${oc.env:OPENAI_API_KEY}")),
    (2, ("-m", "top_n=1,2", *NOTING, "tracker=mlflow", "tracker.uri=${oc.env:MY_SERVER}")),
    (2, (*SERVER, "llm.api_base=${oc.env:MY_SERVER}")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("status", "arguments"), REFERENCES, ids=lambda value: None)
def test_a_reference_to_the_environment_is_never_resolved_in_what_is_written(
    status: int, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "noting.py").write_text(PLUGIN)
    done = run_convrag(arguments, tmp_path, environment=ENVIRONMENT, libraries=LIBRARIES)
    assert find_secrets(tmp_path, done, SECRETS) == []
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), (
        done.stdout + done.stderr
    )


@pytest.mark.slow
def test_mlflow_has_the_reference(tmp_path: Path) -> None:
    (tmp_path / "noting.py").write_text(PLUGIN)
    arguments = (*NOTING, "rewriter.word=${oc.env:PLAIN}", "limit=${oc.env:LIMIT}")
    done = run_convrag(
        arguments, tmp_path, environment={**ENVIRONMENT, "LIMIT": "1"}, libraries=LIBRARIES
    )
    assert done.returncode == 0, done.stderr
    (logged,) = tmp_path.glob("outputs/mlflow/*/artifacts/config.yaml")
    config = yaml.safe_load(logged.read_text())
    assert config["rewriter"]["word"] == "${oc.env:PLAIN}"
    assert config["limit"] == 1, "settings are resolved: observers use them"


def test_python_is_refused_too() -> None:
    for overrides in (
        [f"llm.api_base={URL}", *SERVER],
        [f"tracker.uri=postgresql://bob:{PASSWORD}@h/db"],
    ):
        for make in (compose, Pipeline.compose):
            with pytest.raises(ConfigError, match="holds a password") as raised:
                make(*overrides)
            assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("http://bob:pw@h/", "a password"),
        ("http://token@h/", "a password"),
        ("postgresql+psycopg://bob:p/w#x@h/db", "a password"),
        ("postgresql://bob@h/db", ""),
        ("bob:pw@h:9/v1", "a password"),
        ("see http://bob:my pw@h", "a password"),
        ("http://h:8000/path@x", ""),
        ("http://h:8000/v1?api-version=2", ""),
        ("http://h/?api_key=abc", "a key"),
        ("http://h/?a=1&sig=abc", "a key"),
        ("http://h/?monkey=abc", ""),
        ("http://bob:${oc.env:PW}@h/", ""),
        ("http://${oc.env:WHO}@h/?key=${oc.env:K}", ""),
        ("http://bob:pw@${oc.env:HOST}/", "a password"),
        ("${oc.env:OPENAI_API_KEY}", ""),
        ("sk-ant-api03-0123456789abcdef", "a key"),
        ("sk-learn", ""),
        ("Bearer abcdef0123456789", "a key"),
        ("basic english", ""),
        ("AKIAIOSFODNN7EXAMPLE", "a key"),
        ("sqlite:////tmp/a@b/mlflow.db", ""),
        ("git+ssh://git@h/repository", ""),
        ("s3://bucket/key=1/x", ""),
        ("clusterer@rewriter.clusterer", ""),
        ("rewriter=none+ranker=bm25", ""),
    ],
)
def test_what_is_secret_in_a_text(text: str, what: str) -> None:
    assert describe_secret(text, {}) == what


def test_the_value_of_a_variable_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "only-this-one-knows")
    monkeypatch.setenv("KEY_PATH", "long-enough-text")
    monkeypatch.setenv("SSH_KEY", "/home/me/.ssh/key")
    monkeypatch.setenv("SHORT_KEY", "model")
    assert describe_secret("x only-this-one-knows y") == "the value of MY_TOKEN"
    assert describe_secret("long-enough-text /home/me/.ssh/key model") == ""
    assert redact("at only-this-one-knows, /home/me/.ssh/key") == "at ***, /home/me/.ssh/key"


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "X-API-Key", "password", "Authorization", "client_secret"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "pad_token", "sort_key", "keys", "key", "input_cost_per_token", "env"]
)
def test_names_of_others(name: str) -> None:
    assert not is_secret_name(name)


HEADERS = (
    *SERVER,
    "llm.extra={extra_headers: {X-Team: 'Key ${oc.env:PLAIN}', X-Two: '${note}'}}",
    "+note=${oc.env:OTHER}",
)


def test_what_a_header_takes_from_the_environment_is_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the header and the variable are called, and through whatever references."""
    monkeypatch.setenv("PLAIN", PASSWORD)
    monkeypatch.setenv("OTHER", "another-one-77")
    compose(*HEADERS)
    assert (
        redact(f"you sent 'Key {PASSWORD}', {PASSWORD} and another-one-77")
        == "you sent '***', *** and ***"
    )
    assert describe_secret(f"x{PASSWORD}x") == "the value of PLAIN"
    with pytest.raises(ConfigError, match="holds the value of PLAIN"):
        compose(*HEADERS, f"+word={PASSWORD}")


def test_a_header_whose_variable_is_not_set_is_missed_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PLAIN", raising=False)
    compose(*SERVER, "llm.extra={extra_headers: {X-Team: '${oc.env:PLAIN}'}}")


def test_headers_in_a_variable_are_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-team={PASSWORD},x-other=another-one-77")
    assert redact(f"{PASSWORD} another-one-77") == "*** ***"


@pytest.mark.slow
def test_a_header_is_asterisks_in_a_resolved_configuration(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "OTHER": "abc"}
    done = run_convrag(("--cfg", "job", "--resolve", *HEADERS), tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert "X-Team: Key ***" in done.stdout
    assert "X-Two: '***'" in done.stdout, "a short value, too"
