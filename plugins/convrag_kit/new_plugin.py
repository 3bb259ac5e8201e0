"""`task=new_plugin`: writes a distribution with one plugin that works."""

from __future__ import annotations

import secrets
import shutil
import sys
from importlib import resources
from pathlib import Path

from omegaconf import DictConfig

from convrag import ConfigError, Task, __version__
from convrag.sdk.groups import GROUPS
from convrag_kit.plugin_names import check_option, check_package, make_class_name, make_distribution_name
from convrag_kit.stage_templates import StageTemplate, choose_template


class NewPluginTask(Task):
    """Write a plugin to begin with: a distribution with one option that works, its variant, and its tests.

    Args:
        package: the name of its package, such as acme_rewriter.
        stage: what it is to be: rewriter, clusterer, metrics, ...
        llm: whether it asks a language model: with a prompt template, the reading of replies, what happens where the
            model fails, and tests with recorded replies.
        option: the name by which it is chosen; unless given, the package's.
        path: the folder to write, which must not be there; unless given, one here with the
            package's name in hyphens.
    """

    def __init__(
        self, *, package: str, stage: str, llm: bool = False, option: str | None = None, path: Path | None = None
    ) -> None:
        self.package = package
        self.stage = stage
        self.llm = llm
        self.option = option or package
        self.path = path or Path(make_distribution_name(package))

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Write the distribution and say what to do next. Raises ConfigError where a name is not valid or taken."""
        template = choose_template(self.stage, llm=self.llm)
        check_package(self.package)
        check_option(self.stage, self.option)
        if self.path.name == self.package:
            raise ConfigError(
                f"task.path={self.path}: a folder that has the name of the package in it hides the package from Python "
                f"when that is started beside it. Choose another one, such as {make_distribution_name(self.package)}"
            )
        if self.path.exists():
            raise ConfigError(f"{self.path} is there already: choose another folder, task.path=...")
        files = render_files(self.package, self.stage, self.option, template)
        self._write(files)
        shown = "\n".join(f"  {self.path / name}" for name in files)
        sys.stdout.write(
            f"{shown}\n\nNext:\n"
            f"  python -m pip install -e '{self.path}[test]'\n"
            f"  python -m convrag task=plugins task.stage={self.stage}\n"
            f"  python -m convrag {format_command(self.stage, self.option, template)}\n"
            f"  python -m pytest {self.path}\n"
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


def render_files(package: str, stage: str, option: str, template: StageTemplate) -> dict[str, str]:
    """The files of a distribution, path -> text.

    Args:
        package: the name of the package.
        stage: the stage of its plugin.
        option: the name by which the plugin is chosen.
        template: the values of the stage's templates.
    """
    from jinja2 import Environment, StrictUndefined

    variant = f"{option}_{template.suffix}"
    values = {
        "package": package,
        "distribution": make_distribution_name(package),
        "stage": stage,
        "option": option,
        "cls": make_class_name(option, stage),
        "contract": f"{GROUPS[stage].__name__}Contract",
        "variant": variant,
        "command": format_command(stage, option, template),
        "compatible": format_compatible_versions(__version__),
        "task": template.asks,
        "known": template.known,
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
        f"{package}/{stage}.py": f"{'llm' if template.asks else 'stages'}/{stage}.py.jinja",
        f"{package}/conf/{stage}/{variant}.yaml": "variant.yaml.jinja",
        f"tests/test_{package}.py": f"llm/{stage}_test.py.jinja" if template.asks else "test.py.jinja",
    }
    files = {
        path: environment.from_string(templates.joinpath(source).read_text(encoding="utf-8")).render(values)
        for path, source in sources.items()
    }
    if template.asks:  # a template itself, so it is copied as it is
        prompt = templates.joinpath(f"llm/{stage}.prompt.jinja").read_text(encoding="utf-8")
        files[f"{package}/{template.asks}.jinja"] = prompt
    return {**files, f"{package}/conf/__init__.py": "", f"{package}/py.typed": ""}


def format_command(stage: str, option: str, template: StageTemplate) -> str:
    """The arguments of `python -m convrag` that try an option."""
    return template.command.format(stage=stage, option=option)


def format_compatible_versions(version: str) -> str:
    """The versions of convrag that a plugin made with this one can count on: ">=0.2,<0.3" of 0.2.1."""
    major, minor, *_ = version.split(".")
    return f">={major}.{minor},<{major}.{int(minor) + 1}"
