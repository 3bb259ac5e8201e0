"""Which parts of MLflow are installed: the core of convrag has its skinny half, which logs; the whole has a page."""

from __future__ import annotations

from importlib import metadata

from convrag.sdk.libraries import is_installed

MODULES = {"mlflow": "mlflow-skinny", "sqlalchemy": "sqlalchemy", "alembic": "alembic"}
"""What logging imports -> the distribution that has it."""


def find_problem() -> str:
    """Why MLflow cannot log here, and what to install; empty where it can. Nothing is imported."""
    if absent := [name for module, name in MODULES.items() if not is_installed(module)]:
        verb = "are" if len(absent) > 1 else "is"
        return f"{' and '.join(absent)} {verb} not installed: pip install {' '.join(absent)}"
    whole, skinny = find_version("mlflow"), find_version("mlflow-skinny")
    if whole and skinny and whole != skinny:
        fitting = f"pip install mlflow=={skinny} mlflow-skinny=={skinny}"
        return f"mlflow {whole} and mlflow-skinny {skinny} are of different versions: {fitting}"
    return ""


def find_version(name: str) -> str:
    """The version of a distribution; empty where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
