"""Virtual environments of the peers, made from environments/<name>.txt, and kept."""

import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINNED = Path(__file__).parent / "environments"
MADE = Path(__file__).parent / ".environments"


def make_environment(name: str, made: Path = MADE) -> Path:
    """Return the interpreter of an environment, which is made if missing or outdated.

    Args:
        name: of a file of environments/ without `.txt`.
        made: the folder of all environments.
    """
    pinned = PINNED / f"{name}.txt"
    folder = made / f"{name}-{blake2b(pinned.read_bytes(), digest_size=6).hexdigest()}"
    python = folder / "bin/python"
    if not (folder / "ready").exists():
        sys.stderr.write(f"environment {name}: installing {pinned.name}\n")
        if folder.exists():
            shutil.rmtree(folder)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [
            str(python),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "-r",
            str(pinned),
        ]
        subprocess.run(install, check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
        (folder / "ready").touch()
    elif name == "convrag":  # its code may be another since
        again = [
            "install",
            "-q",
            "--no-deps",
            "--force-reinstall",
            "--disable-pip-version-check",
            ".",
        ]
        subprocess.run(
            [str(python), "-m", "pip", *again], check=True, cwd=ROOT, stderr=subprocess.DEVNULL
        )
    return python


def list_pinned(name: str) -> dict[str, str]:
    """The packages of an environment and their versions."""
    lines = (
        line.split("#")[0].strip()
        for line in (PINNED / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    )
    return dict(line.split("==") for line in lines if "==" in line)


def measure_size(python: Path) -> dict[str, float]:
    """Measure what is installed in megabytes, without pip and compiled files; and the packages."""
    found = "import site; print(site.getsitepackages()[0])"
    folder = Path(
        subprocess.run(
            [str(python), "-c", found], check=True, capture_output=True, text=True
        ).stdout.strip()
    )
    own = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")
    counted = [path for path in folder.iterdir() if not path.name.startswith(own)]
    files = [file for path in counted for file in ([path] if path.is_file() else path.rglob("*"))]
    size = sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")
    return {
        "megabytes": round(size / 1e6, 1),
        "packages": len(list(folder.glob("*.dist-info"))) - 1,
    }
