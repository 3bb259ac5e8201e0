"""What would be published: an sdist, a wheel made from it, and an environment that has nothing else
of ours.
"""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import convrag
from places import ROOT
from third_party import needs_pip

pytestmark = pytest.mark.slow

pytestmark = needs_pip

BUILD = "import sys; from setuptools import build_meta as b; print(b.build_sdist(sys.argv[1]))"
BESIDE = ("build", "dist", "*.egg-info", "outputs", ".*", "__pycache__")


def run(*command: object, folder: Path) -> str:
    outside = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH"
    }  # it may name the repository
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=outside, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*BESIDE))
    run(sys.executable, "-W", "ignore", "-c", BUILD, folder, folder=folder / "source")
    (archive,) = folder.glob("convrag-*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made from the sdist, so that nothing can be lacking there."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-index", "--no-deps", "--no-build-isolation", "-q", "-w", folder]
    run(sys.executable, "-m", "pip", "wheel", *options, sdist, folder=folder)
    (archive,) = folder.glob("convrag-*.whl")
    return archive


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and the libraries that are installed here, but not the
    repository.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "venv")
    executable = folder / "venv/bin/python"
    (packages,) = folder.glob("venv/lib/*/site-packages")
    libraries = [
        path for path in sys.path if "site-packages" in path
    ]  # their .pth files, such as ours, are not read
    (packages / "libraries.pth").write_text("\n".join(libraries) + "\n")
    options = ["--no-index", "--no-deps", "--force-reinstall", "-q"]
    run(executable, "-m", "pip", "install", *options, wheel, folder=folder)
    return executable


EDITABLE = (
    "import sys; from setuptools import build_meta as b; print(b.build_editable(sys.argv[1]))"
)


def test_an_editable_install_says_where_its_packages_lie(sdist: Path, tmp_path: Path) -> None:
    """In a .pth file, which mypy, pyright and editors read, and which holds in the folder of the
    clone as well.
    """
    source = sdist.parent / "source"
    run(sys.executable, "-W", "ignore", "-c", EDITABLE, tmp_path, folder=source)
    (wheel,) = tmp_path.glob("convrag-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("_roots.pth")]
        assert archive.read(name).decode().split("\n") == [str(source), str(source / "plugins"), ""]
        assert name in archive.read(f"convrag-{convrag.__version__}.dist-info/RECORD").decode()


def test_the_sdist_has_what_a_packager_wants(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = (
        "LICENSE README.md CHANGELOG.md CONTRIBUTING.md constraints.txt setup.py conf/config.yaml"
    )
    assert {*wanted.split()} <= names
    assert {
        "docs/tutorial.md",
        "tests/distribution/test_wheel.py",
        "docs/examples/acme/pyproject.toml",
    } <= names


def test_the_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    sources = [
        (ROOT / "convrag", "convrag"),
        (ROOT / "conf", "convrag/conf"),
        (ROOT / "plugins", ""),
    ]
    for root, place in sources:
        for file in root.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and ".egg-info" not in str(file):
                assert str(Path(place, file.relative_to(root))) in packed
    assert {"convrag/py.typed", "convrag_datasets/sample/corpus.jsonl"} <= packed
    assert "convrag_kit/templates/stages/llm.py.jinja" in packed
    assert not [name for name in packed if name.startswith(("tests/", "docs/"))]


def test_the_wheel_puts_no_name_into_site_packages_that_others_could_have(wheel: Path) -> None:
    packed = zipfile.ZipFile(wheel).namelist()
    names = {name.partition("/")[0] for name in packed} - {
        f"convrag-{convrag.__version__}.dist-info"
    }
    assert names == {
        "convrag",
        *(path.name for path in (ROOT / "plugins").glob("*") if path.name != "__pycache__"),
    }
    assert [name for name in sorted(names) if not name.startswith("convrag")] == ["hydra_plugins"]
    ours = {"convrag_ray_launcher", "convrag_sweeper"}
    assert {name.split("/")[1] for name in packed if name.startswith("hydra_plugins/")} == ours, (
        "no __init__.py"
    )


LINK_TO_A_PAGE = re.compile(r"\]\((?!https?:)")


def test_a_package_index_shows_no_link_and_no_image_that_lead_nowhere(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        written = archive.read(f"convrag-{convrag.__version__}.dist-info/METADATA").decode()
    described = email.message_from_string(written)
    assert described["Description-Content-Type"].startswith("text/markdown")
    assert described["Version"] == convrag.__version__
    readme, shown = (ROOT / "README.md").read_text(encoding="utf-8"), described.get_payload()
    assert not LINK_TO_A_PAGE.search(shown)
    assert "The tutorial (docs/tutorial.md) builds one" in shown
    assert "`pip install convrag && python -m convrag`" in shown
    assert "git+" not in shown
    assert "mcp-name: io.github.convrag/convrag" in shown
    assert "Source, https://github.com/convrag/convrag" in described.get_all("Project-URL")
    assert re.findall(r"^```.*?^```$", shown, re.DOTALL | re.MULTILINE) == re.findall(
        r"^```.*?^```$", readme, re.DOTALL | re.MULTILINE
    )


def test_links_to_addresses_and_code_are_described_as_they_are() -> None:
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    (code,) = re.findall(r"^FENCE.*?(?=^class )", text, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"re": re}
    exec(code, names)  # setup.py itself builds
    kept = "[a](https://b.c/d) `[e](f)`\n```\n[g](h)\n```\n"
    changed = "![i](j.png)\n[k](l.md#m) [`n`](o.md) [p.md](p.md#q) [r](#s)\n"
    shown = names["describe"](kept + changed)
    assert shown.startswith(kept.rstrip())
    assert shown.splitlines()[4:-4] == ["k (l.md) `n` (o.md) p.md r"]


def test_each_file_that_says_a_version_says_this_one() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert described["version"] == convrag.__version__
    assert f"\nversion: {convrag.__version__}\n" in (ROOT / "CITATION.cff").read_text(
        encoding="utf-8"
    )
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, day = re.findall(r"^## \[(\d.*?)\] - (.*)$", changes, re.MULTILINE)[0]
    assert version == convrag.__version__
    assert f'\ndate-released: "{day}"\n' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for example in (ROOT / "docs/examples").glob("*/pyproject.toml"):
        (needed,) = (
            Requirement(line)
            for line in tomllib.loads(example.read_text(encoding="utf-8"))["project"][
                "dependencies"
            ]
            if Requirement(line).name == "convrag"
        )
        assert needed.specifier.contains(convrag.__version__), example


@pytest.mark.slow
def test_it_runs_where_nothing_else_of_ours_is(python: Path, tmp_path: Path) -> None:
    where = run(
        python,
        "-c",
        "import convrag, convrag_kit; print(convrag.__file__, convrag_kit.__file__)",
        folder=tmp_path,
    )
    assert str(ROOT) not in where
    shown = run(python, "-m", "convrag", "limit=2", "tracker=none", folder=tmp_path)
    assert "nDCG@5" in shown
    assert "full_history" in run(python, "-m", "convrag", "--help", folder=tmp_path)
    run(python, "-m", "convrag", "+seed=ginger", "limit=1", "tracker=none", folder=tmp_path)
    run(
        python,
        "-m",
        "convrag",
        "task=new_plugin",
        "task.package=acme_llm",
        "task.stage=llm",
        folder=tmp_path,
    )
    assert (tmp_path / "acme-llm/acme_llm/llm.py").exists()
    command = python.with_name("convrag")
    assert f"convrag {convrag.__version__}" in run(
        command, "task=doctor", "tracker=none", folder=tmp_path
    )
