"""A password or a key in a configuration is refused before anything is written; a reference to it stays one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commands import run_convrag
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

COMMANDS: list[tuple[str, tuple[str, ...]]] = [
    ("llm.api_base", (*SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("-m", "top_n=1,2", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("-m", *SERVER, f"llm.api_base=http://127.0.0.1:9,{URL}")),
    ("llm.api_base", ("-m", *SERVER, f"llm.api_base=choice(http://127.0.0.1:9,'{URL}')")),
    ("llm.api_base", ("task=doctor", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("task=chat", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("task=index", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("task=plugins", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("--cfg", "job", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("-c", "hydra", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("-c", "all", "--resolve", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("--info", "all", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("--info", "defaults", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("--help", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("--hydra-help", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", ("hydra.verbose=true", *SERVER, f"llm.api_base={URL}")),
    ("llm.api_base", (*SERVER, f"llm.api_base=http://bob:{PASSWORD}/x@127.0.0.1:9/v1")),
    ("llm.api_base", (*SERVER, f"llm.api_base=bob:{PASSWORD}@127.0.0.1:9/v1")),
    ("llm.api_base", (*SERVER, f"llm.api_base=http://{PASSWORD}@127.0.0.1:9/v1")),
    ("llm.api_base", (*SERVER, f"llm.api_base='http://127.0.0.1:9/v1?api_key={PASSWORD}'")),
    ("llm.api_base", (*SERVER, f"llm.api_base='http://127.0.0.1:9/v1?v=1&sig={PASSWORD}'")),
    ("llm.api_base", (*SERVER, f"++llm.api_base={URL}")),
    ("llm.apibase", (*SERVER, f"llm.apibase={URL}")),
    ("llm.api_base", (*SERVER, f"llm.api_base={URL}", "nonsense==,")),
    ("llm.api_base", (*SERVER, f"llm.api_base={{{URL}")),
    ("llm.api_key_env", (*SERVER, f"llm.api_key_env={KEY}")),
    ("llm.api_base_env", (*SERVER, f"llm.api_base_env={URL}")),
    ("llm.api_key", (*SERVER, f"+llm.api_key={PASSWORD}")),
    ("llm.extra.api_key", (*SERVER, f"+llm.extra.api_key={PASSWORD}")),
    ("llm.extra.my_key", (*SERVER, f"+llm.extra.my_key={PASSWORD}")),
    ("llm.extra.my_key", ("-m", "top_n=1,2", *SERVER, f"+llm.extra.my_key={PASSWORD}")),
    ("llm.extra.extra_headers.Authorization", (*SERVER, f"+llm.extra.extra_headers.Authorization={PASSWORD}")),
    ("llm.extra.extra_headers.x-api-key", (*SERVER, f"llm.extra={{extra_headers: {{x-api-key: {PASSWORD}}}}}")),
    (
        "llm.extra.extra_headers.x-api-key",
        ("-m", *SERVER, f"llm.extra={{a: 1}},{{extra_headers: {{x-api-key: {PASSWORD}}}}}"),
    ),
    ("llm.extra.foo", (*SERVER, f"+llm.extra.foo={HELD}")),
    ("llm", (f"llm={KEY}",)),
    ("***", (KEY,)),
    ("***", (f"{KEY}=1",)),
    ("tracker.uri", ("tracker=mlflow", f"tracker.uri=postgresql://bob:{PASSWORD}@127.0.0.1/db")),
    ("tracker.uri", ("-m", "top_n=1,2", "tracker=mlflow", f"tracker.uri=mysql+pymysql://bob:{PASSWORD}@h/db")),
    ("tracker.uri", (f"tracker.uri={URL}", *QUICK)),
    ("task.tracking_uri", ("task=compare", "task.runs=[a]", f"task.tracking_uri={URL}")),
    ("task.path", ("task=export", "task.records=x", f"task.path={URL}")),
    ("dataset.corpus", ("dataset=jsonl", "dataset.conversations=x", f"dataset.corpus={URL}")),
    ("note", (f"+note={URL}", *QUICK)),
    ("note", (f"+note=[1,'{URL}']", *QUICK)),
    ("note", ("-m", f"+note=a,{KEY}", *QUICK)),
    ("note.password", (f"+note.password={PASSWORD}", *QUICK)),
    ("note.password", ("-m", "top_n=1,2", "+note.password=123456", *QUICK)),
    ("hydra.run.dir", (f"hydra.run.dir=out/{KEY}", *QUICK)),
    ("hydra.sweep.dir", ("-m", "top_n=1,2", f"hydra.sweep.dir=out/{KEY}", *QUICK)),
    ("hydra.job.env_set.MY_API_KEY", (f"+hydra.job.env_set.MY_API_KEY={PASSWORD}", *QUICK)),
    ("llm.api_base", ("--config-dir", "conf_of_mine", *SERVER, "+seed=locked")),
    ("llm.api_base", ("--config-dir", "conf_of_mine", "-m", "top_n=1,2", *SERVER, "+seed=locked")),
    ("llm.api_base", ("--config-dir", "conf_of_mine", "llm=gateway")),
    ("llm.api_base", ("--config-dir", "conf_of_mine", "-m", "llm=extractive,gateway")),
    ("llm.api_base", ("--config-dir", "conf_of_mine", "llm=gateway", "--cfg", "job")),
    ("llm.api_base", ("--config-dir", "conf_of_mine", "task=doctor", "llm=gateway")),
    ("llm.extra.extra_headers.Authorization", ("--config-dir", "conf_of_mine", "llm=header")),
    ("tracker.uri", ("--config-dir", "conf_of_mine", "tracker=team")),
    ("tracker.uri", ("--config-dir", "conf_of_mine", "-m", "top_n=1,2", "tracker=team")),
    ("hydra.sweeper.params.+note", ("--config-dir", "conf_of_mine", "-m", "+sweep=two", *QUICK)),
    ("tracker.uri", ("--config-dir", "conf_of_mine", "--config-name", "mine", *QUICK)),
]
"""The option that the message names, and the command."""


def write_files(folder: Path) -> list[Path]:
    paths = []
    for name, text in FILES.items():
        path = folder / "conf_of_mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(path)
    return paths


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


REFERENCES: list[tuple[int, tuple[str, ...]]] = [
    (0, ("+note=${oc.env:PLAIN}", *QUICK)),
    (0, ("+note={deep: ['${oc.env:OPENAI_API_KEY}']}", *QUICK, "tracker=none")),
    (0, ("+note=${oc.env:OPENAI_API_KEY}", "+again=${note}", *QUICK)),
    (0, ("-m", "+note=${oc.env:PLAIN}", "top_n=1,2", *QUICK)),
    (0, ("-m", "+note=a,${oc.env:MY_SERVER}", *QUICK)),
    (0, ("--cfg", "job", "--resolve", "+note=${oc.env:MY_SERVER}", "+other=${oc.env:OPENAI_API_KEY}")),
    (0, ("task=doctor", "+note=${oc.env:PLAIN}")),
    (2, ("top_k=${oc.env:OPENAI_API_KEY}", *QUICK)),
    (2, ("rewriter=last_n", "rewriter.n=${oc.env:OPENAI_API_KEY}")),
    (2, ("history=${oc.env:OPENAI_API_KEY}", *QUICK)),
    (2, ("-m", "rewriter=last_n,none", "history=${oc.env:OPENAI_API_KEY}", "limit=1")),
    (2, ("tracker=mlflow", "tracker.uri=${oc.env:MY_SERVER}", *QUICK)),
    (2, (*SERVER, "llm.api_base=${oc.env:MY_SERVER}")),
    (2, ("-m", "top_n=1,2", "tracker=mlflow", "tracker.uri=${oc.env:MY_SERVER}", *QUICK)),
]


@pytest.mark.parametrize(("status", "arguments"), REFERENCES, ids=lambda value: None)
def test_a_reference_to_the_environment_is_never_resolved_in_what_is_written(
    status: int, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    pytest.importorskip("mlflow")
    libraries = ("mlflow", "mlflow.store.tracking.sqlalchemy_store", "alembic.command", "sqlalchemy.dialects.sqlite")
    done = run_convrag(arguments, tmp_path, environment=ENVIRONMENT, libraries=libraries)
    assert find_secrets(tmp_path, done, SECRETS) == []
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stdout + done.stderr
