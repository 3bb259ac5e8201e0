"""Where llm=llama_cpp finds its model; neither the library nor a model is needed."""

from pathlib import Path
from typing import Any

import pytest

from convrag import ConfigError, ConvragError, Message, Prompt
from convrag_llms.gguf_files import GgufFile
from convrag_llms.llama_cpp_llm import LlamaCpp
from tasks import run_task


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.Q8_0.gguf"
    path.write_bytes(b"GGUF" + bytes(200_000))
    return path


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "which model"),
        ({"model": Path("a.gguf"), "repo": "org/a", "file": "a.gguf"}, "not both"),
        ({"repo": "org/a"}, "belong together"),
        ({"file": "a.gguf"}, "belong together"),
    ],
)
def test_a_model_is_named_once(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LlamaCpp(**given)


def test_a_file_that_is_there(model: Path) -> None:
    file = GgufFile(model, None, None)
    assert file.find_problem() == ""
    assert file.find() == model
    assert file.name == "small.Q8_0"


def test_what_is_no_model(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<html>", encoding="utf-8")
    problems = {
        tmp_path: "is a folder: name the GGUF file in it: one of page.gguf, small.Q8_0.gguf",
        tmp_path / "absent.gguf": "cannot be read (No such file or directory)",
        page: "is not a GGUF file",
    }
    for path, problem in problems.items():
        file = GgufFile(path, None, None)
        assert problem in file.find_problem()
        with pytest.raises(ConvragError) as raised:
            file.find()
        assert problem in str(raised.value)


def test_the_hub_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no route to the hub")

    monkeypatch.setattr(HfApi, "model_info", refuse)
    (problem,) = LlamaCpp(repo="org/a", file="a.gguf").check()
    assert "'org/a' is not in the local cache" in problem
    assert "no route to the hub" in problem
    assert "llm.model=path/to/model.gguf" in problem


def test_a_file_that_the_repository_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import ModelInfo, RepoSibling

    siblings = [RepoSibling("a-Q4_K_M.gguf"), RepoSibling("README.md")]
    info = ModelInfo(id="org/a", siblings=[])
    info.siblings = siblings
    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: info)
    assert GgufFile(None, "org/a", "a-Q4_K_M.gguf").find_problem() == ""
    problem = GgufFile(None, "org/a", "a.gguf").find_problem()
    assert "org/a has no file 'a.gguf'; its GGUF files: a-Q4_K_M.gguf" in problem


def test_a_file_in_the_cache_of_the_hub(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--org--a"
    snapshot = repository / "snapshots" / "1f3a"
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("1f3a", encoding="utf-8")
    (snapshot / "a.gguf").write_bytes(model.read_bytes())
    file = GgufFile(None, "org/a", "a.gguf")
    assert file.find() == snapshot / "a.gguf"
    assert file.find_problem() == ""
    assert file.identify() == "org/a/a.gguf@1f3a"


def test_a_model_is_known_by_blocks_of_its_file(model: Path) -> None:
    before = LlamaCpp(model=model).content_hash()
    renamed = model.with_name("other.gguf")
    renamed.write_bytes(model.read_bytes())
    assert LlamaCpp(model=renamed).content_hash() == before
    changed = bytearray(model.read_bytes())
    changed[-1] = 1
    model.write_bytes(changed)
    assert LlamaCpp(model=model).content_hash() != before
    assert LlamaCpp(model=model.with_name("absent.gguf")).content_hash() == ""


def test_asking_again_draws_again(model: Path) -> None:
    stage = LlamaCpp(model=model, temperature=0.7, seed=5, max_tokens=20)
    messages = (Message("user", "Hello"),)
    request = stage._build_request(Prompt("answer", messages, attempt=2, room=30))
    assert (request["seed"], request["max_tokens"]) == (7, 30)
    given = {"max_tokens": 4, "logprobs": True, "unknown": 1, "top_p": None}
    request = stage._build_request(Prompt("answer", messages, sampling=given, room=30))
    assert request == {
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0.7,
        "max_tokens": 4,
        "seed": 5,
    }


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    done = run_task(["llm=llama_cpp", "llm.model=absent.gguf", "rewriter=condense"], tmp_path)
    assert done.returncode == 2
    assert "absent.gguf" in done.stderr or "convrag[llama-cpp]" in done.stderr
    assert "Traceback" not in done.stderr
