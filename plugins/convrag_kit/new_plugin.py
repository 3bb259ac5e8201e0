"""`task=new_plugin`: writes a distribution with one plugin that works."""

from __future__ import annotations

import secrets
import shutil
import sys
from importlib import resources
from pathlib import Path

from omegaconf import DictConfig

from convrag import ConfigError, Task
from convrag.api.groups import GROUPS
from convrag_kit.plugin_names import check_option, check_package, check_stage, make_class_name, make_distribution_name
from convrag_kit.stage_templates import STAGE_TEMPLATES


class NewPluginTask(Task):
    """Write a plugin to begin with: a distribution with one option that works, its variant, and its tests.

    Args:
        package: the name of its package, such as acme_rewriter.
        stage: what it is to be: rewriter, clusterer, metrics, ...
        option: the name by which it is chosen; unless given, the package's.
        path: the folder to write, which must not be there; unless given, one here with the
            package's name in hyphens.
    """

    def __init__(self, *, package: str, stage: str, option: str | None = None, path: Path | None = None) -> None:
        self.package = package
        self.stage = stage
        self.option = option or package
        self.path = path or Path(make_distribution_name(package))

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Write the distribution and say what to do next. Raises ConfigError where a name is not valid or taken."""
        check_stage(self.stage)
        check_package(self.package)
        check_option(self.stage, self.option)
        if self.path.name == self.package:
            raise ConfigError(
                f"task.path={self.path}: a folder that has the name of the package in it hides the package from Python "
                f"when that is started beside it. Choose another one, such as {make_distribution_name(self.package)}"
            )
        if self.path.exists():
            raise ConfigError(f"{self.path} is there already: choose another folder, task.path=...")
        files = render_files(self.package, self.stage, self.option)
        self._write(files)
        shown = "\n".join(f"  {self.path / name}" for name in files)
        sys.stdout.write(
            f"{shown}\n\nNext:\n"
            f"  pip install -e {self.path}\n"
            f"  python -m convrag task=plugins task.stage={self.stage}\n"
            f"  python -m convrag {format_command(self.stage, self.option)}\n"
            f"  pytest {self.path}\n"
        )
        return 0

    def _write(self, files: dict[str, str]) -> None:
        """Write all files, or none: the folder gets its name when it is complete."""
        unfinished = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.unfinished")
        try:
            for name, text in files.items():
                (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
                (unfinished / name).write_text(text, encoding="utf-8")
            unfinished.rename(self.path)
        except OSError as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise ConfigError(f"task.path={self.path} cannot be written: {error.strerror}") from error


def render_files(package: str, stage: str, option: str) -> dict[str, str]:
    """The files of a distribution, path -> text.

    Args:
        package: the name of the package.
        stage: the stage of its plugin.
        option: the name by which the plugin is chosen.
    """
    from jinja2 import Environment, StrictUndefined

    template = STAGE_TEMPLATES[stage]
    variant = f"{option}_{template.suffix}"
    values = {
        "package": package,
        "distribution": make_distribution_name(package),
        "stage": stage,
        "option": option,
        "cls": make_class_name(option, stage),
        "contract": f"{GROUPS[stage].__name__}Contract",
        "variant": variant,
        "command": format_command(stage, option),
        "changed": template.changed,
        "value": template.value,
        "arguments": template.arguments,
        "needed": template.needed,
    }
    environment = Environment(
        undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    templates = resources.files("convrag_kit").joinpath("templates")
    sources = {
        "pyproject.toml": "pyproject.toml.jinja",
        "README.md": "README.md.jinja",
        "LICENSE": "LICENSE.jinja",
        f"{package}/__init__.py": "__init__.py.jinja",
        f"{package}/{stage}.py": f"stages/{stage}.py.jinja",
        f"{package}/conf/{stage}/{variant}.yaml": "variant.yaml.jinja",
        f"tests/test_{package}.py": "test.py.jinja",
    }
    files = {
        path: environment.from_string(templates.joinpath(source).read_text(encoding="utf-8")).render(values)
        for path, source in sources.items()
    }
    return {**files, f"{package}/conf/__init__.py": ""}


def format_command(stage: str, option: str) -> str:
    """The arguments of `python -m convrag` that try an option."""
    return STAGE_TEMPLATES[stage].command.format(stage=stage, option=option)
