"""`task=new_plugin`: checks the names of a new plugin, and writes a distribution with one that
works.
"""

import ast
import keyword
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path

from omegaconf import DictConfig

from convrag import ConfigError, Task, UnknownName, __version__
from convrag.sdk.folders import write_folder
from convrag.sdk.groups import GROUPS
from convrag.sdk.tasks.options import FIRST_PARTY, plugins, variants

_REPOSITORIES = "https://github.com"
"""Where a plugin's repository is said to be, unless its author names another place."""


@dataclass(frozen=True)
class StageTemplate:
    """The values for the templates of one stage.

    Args:
        changed: the parameter that the YAML variant changes.
        value: to what.
        suffix: what the variant's name ends with.
        command: the arguments of `python -m convrag` that try it.
        arguments: those that its test makes the class with.
        needed: the name that these arguments take from convrag.testing.
        task: of one that asks an LLM, the task of its prompt; empty for the others.
        known: whether llm=extractive has a rule for that task.
    """

    changed: str
    value: str
    suffix: str
    command: str = "{stage}={option} limit=2"
    arguments: str = ""
    needed: str = ""
    task: str = ""
    known: bool = True


STAGE_TEMPLATES = {
    "task": StageTemplate(
        "longest", "10", "long", "task={option}", "dataset=TinyDataset()", "TinyDataset"
    ),
    "dataset": StageTemplate("passages", "null", "example", "dataset={option}"),
    "chunker": StageTemplate(
        "shortest", "200", "long", "task=index dataset=documents dataset.path=. chunker={option}"
    ),
    "llm": StageTemplate("sentences", "2", "two"),
    "embedder": StageTemplate(
        "dimensions", "64", "small", "embedder={option} retriever=dense limit=2"
    ),
    "memory": StageTemplate("turns", "2", "short"),
    "rewriter": StageTemplate("turns", "1", "last"),
    "search": StageTemplate("titles", "1", "one"),
    "retriever": StageTemplate(
        "titles", "false", "untitled", arguments="dataset=TinyDataset()", needed="TinyDataset"
    ),
    "selector": StageTemplate("most", "1", "one"),
    "context": StageTemplate("words", "20", "brief"),
    "generator": StageTemplate("sentences", "1", "one"),
    "detector": StageTemplate("words", "2", "strict", "detector={option} generator=ginger limit=2"),
    "clusterer": StageTemplate(
        "threshold", "0.8", "strict", "clusterer={option} generator=ginger limit=2"
    ),
    "ranker": StageTemplate(
        "shortest", "5", "long", "ranker={option} reranker={option} generator=ginger limit=2"
    ),
    "summarizer": StageTemplate(
        "prefer", "short", "short", "summarizer={option} generator=ginger limit=2"
    ),
    "metrics": StageTemplate("citations", "false", "words", "metrics=[ranking,{option}] limit=2"),
    "tracker": StageTemplate("path", "outputs/all_runs.jsonl", "all"),
}
"""Stage -> values for its templates; there are none for reranker, because rerankers are rankers."""

ASKING_TEMPLATES = {
    "memory": StageTemplate("turns", "1", "short", task="recap", known=False),
    "rewriter": StageTemplate("turns", "1", "last", task="rewrite"),
    "selector": StageTemplate("words", "50", "brief", task="select", known=False),
    "generator": StageTemplate("temperature", "0.7", "varied", task="answer"),
    "detector": StageTemplate(
        "shortest", "3", "long", "detector={option} generator=ginger limit=2", task="nuggets"
    ),
    "ranker": StageTemplate(
        "words", "50", "brief", "reranker={option} limit=2", task="rate", known=False
    ),
    "summarizer": StageTemplate(
        "nuggets", "3", "few", "summarizer={option} generator=ginger limit=2", task="summarize"
    ),
}
"""Stage -> values for its templates that ask an LLM (task.llm=true), where one is of use."""


class NewPluginTask(Task):
    """Write a plugin to begin with: one option that works, a variant of it, and tests.

    Args:
        package: the name of its package, such as acme_rewriter.
        stage: what it is to be: rewriter, clusterer, metrics, ...
        llm: whether it asks a language model: with a prompt template, the reading of replies, what
            happens where the model fails, and tests with recorded replies.
        option: the name by which it is chosen; unless given, the package's.
        path: the folder to write, which must not be there; unless given, one here with the
            package's name in hyphens.
        url: the address of its repository, for pyproject.toml and README.md; unless given,
            https://github.com/OWNER/ with the folder's name, where OWNER is yours to replace.
    """

    def __init__(
        self,
        *,
        package: str,
        stage: str,
        llm: bool = False,
        option: str | None = None,
        path: Path | None = None,
        url: str | None = None,
    ) -> None:
        self.package = package
        self.stage = stage
        self.llm = llm
        self.option = option or package
        self.path = path or Path(make_distribution_name(package))
        self.url = url or f"{_REPOSITORIES}/OWNER/{make_distribution_name(package)}"

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Write the distribution and say what to do next. Raises ConfigError where a name is not
        valid or taken.
        """
        template = choose_template(self.stage, llm=self.llm)
        check_package(self.package)
        check_option(self.stage, self.option)
        if self.path.name == self.package:
            raise ConfigError(
                f"task.path={self.path}: a folder that has the name of the package in it hides the "
                "package from Python when that is started beside it. Choose another one, such as "
                f"{make_distribution_name(self.package)}"
            )
        files = render_files(self.package, self.stage, self.option, template, self.url)
        with write_folder(self.path) as new:
            for name, text in files.items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_text(text, encoding="utf-8")
        shown = "\n".join(f"  {self.path / name}" for name in files)
        sys.stdout.write(
            f"{shown}\n\nNext:\n"
            f"  python -m pip install -e '{self.path}[test]'\n"
            f"  python -m convrag task=plugins task.stage={self.stage}\n"
            f"  python -m convrag {format_command(self.stage, self.option, template)}\n"
            f"  python -m pytest {self.path}\n"
            f"  python -m convrag task=plugins task.check={self.package}\n"
        )
        if "/OWNER/" in self.url:
            sys.stdout.write("Replace OWNER in pyproject.toml and README.md, or give task.url.\n")
        return 0


def choose_template(stage: str, *, llm: bool) -> StageTemplate:
    """Return the values for a stage's templates. Raises ConfigError where there are none.

    Args:
        stage: the group.
        llm: whether the plugin asks a language model.
    """
    if stage == "reranker":
        raise ConfigError("task.stage=reranker: rerankers are rankers, so write task.stage=ranker")
    if stage not in STAGE_TEMPLATES:
        raise UnknownName("task.stage: group", stage, STAGE_TEMPLATES)
    if llm and stage not in ASKING_TEMPLATES:
        others = ", ".join(sorted(ASKING_TEMPLATES))
        raise ConfigError(
            f"task.llm=true: there is no {stage} that asks an LLM, but of {others}; leave task.llm "
            "out"
        )
    return (ASKING_TEMPLATES if llm else STAGE_TEMPLATES)[stage]


def render_files(
    package: str, stage: str, option: str, template: StageTemplate, url: str
) -> dict[str, str]:
    """Return the files of a repository, path -> text.

    Args:
        package: the name of the package.
        stage: the stage of its plugin.
        option: the name by which the plugin is chosen.
        template: the values of the stage's templates.
        url: the address of the repository.
    """
    from jinja2 import Environment, StrictUndefined

    variant = f"{option}_{template.suffix}"
    values = {
        **asdict(template),
        "package": package,
        "distribution": make_distribution_name(package),
        "stage": stage,
        "option": option,
        "cls": make_class_name(option, stage),
        "contract": f"{GROUPS[stage].__name__}Contract",
        "variant": variant,
        "command": format_command(stage, option, template),
        "compatible": format_compatible_versions(__version__),
        "url": url.rstrip("/"),
        "year": date.today().year,
    }
    environment = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    templates = resources.files("convrag_kit").joinpath("templates")
    stage_file = f"{package}/{stage}.py"
    stage_source = f"{'llm' if template.task else 'stages'}/{stage}.py.jinja"

    def render(source: str) -> str:
        return environment.from_string(templates.joinpath(source).read_text("utf-8")).render(values)

    stage_text = render(stage_source)
    values["summary"] = read_summary(stage_text, str(values["cls"]))
    values["parameters"] = read_parameters(stage_text, str(values["cls"]))
    sources = {
        "pyproject.toml": "pyproject.toml.jinja",
        "README.md": "README.md.jinja",
        "LICENSE": "repository/LICENSE.jinja",
        ".github/workflows/tests.yml": "repository/tests.yml.jinja",
        ".pre-commit-config.yaml": "repository/pre-commit.yaml.jinja",
        ".gitignore": "repository/gitignore.jinja",
        f"{package}/__init__.py": "__init__.py.jinja",
        f"{package}/conf/{stage}/{variant}.yaml": "variant.yaml.jinja",
        f"tests/test_{package}.py": f"llm/{stage}_test.py.jinja"
        if template.task
        else "test.py.jinja",
    }
    files = {path: render(source) for path, source in sources.items()}
    files[stage_file] = stage_text
    if template.task:  # a template itself, so it is copied as it is
        prompt = templates.joinpath(f"llm/{stage}.prompt.jinja").read_text(encoding="utf-8")
        files[f"{package}/{template.task}.jinja"] = prompt
    return {**files, f"{package}/conf/__init__.py": "", f"{package}/py.typed": ""}


def read_summary(source: str, cls: str) -> str:
    """Return the first line of the docstring of a class, which is its line in `--help`."""
    return (ast.get_docstring(_find_class(source, cls)) or "").partition("\n")[0]


def read_parameters(source: str, cls: str) -> list[dict[str, str]]:
    """Return name, type, default and help of the parameters of a class, for the README's table.

    They are those of its constructor, or the fields of a dataclass.
    """
    import docstring_parser

    node = _find_class(source, cls)
    described = docstring_parser.parse(ast.get_docstring(node) or "")
    helps = {each.arg_name: " ".join((each.description or "").split()) for each in described.params}
    rows = []
    for name, annotation, default in _list_parameters(node):
        shown = f"`{default}`" if default else "required"
        kind = annotation.replace("|", "\\|")
        rows.append({"name": name, "type": kind, "default": shown, "help": helps.get(name, "")})
    return rows


def _list_parameters(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yield name, annotation and default, which is empty for a required parameter."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            named = part.args.kwonlyargs
            for argument, default in zip(named, part.args.kw_defaults, strict=True):
                annotation = ast.unparse(argument.annotation) if argument.annotation else ""
                yield argument.arg, annotation, ast.unparse(default) if default else ""
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            annotation = ast.unparse(part.annotation)
            if not annotation.startswith("ClassVar"):
                yield part.target.id, annotation, ast.unparse(part.value) if part.value else ""


def _find_class(source: str, cls: str) -> ast.ClassDef:
    """Find a class by its name. Raises ValueError where there is none."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == cls:
            return node
    raise ValueError(f"there is no class {cls}")


def format_command(stage: str, option: str, template: StageTemplate) -> str:
    """The arguments of `python -m convrag` that try an option."""
    return template.command.format(stage=stage, option=option)


def format_compatible_versions(version: str) -> str:
    """Return the versions of convrag that a plugin made with this one can use.

    It is ">=0.2,<0.3" for 0.2.1.
    """
    major, minor, *_ = version.split(".")
    return f">={major}.{minor},<{major}.{int(minor) + 1}"


def check_package(package: str) -> None:
    """Raise ConfigError where a name is not valid for a package, or is taken."""
    place = f"task.package={package}"
    if not re.fullmatch("[a-z][a-z0-9_]*", package) or keyword.iskeyword(package):
        raise ConfigError(
            f"{place} cannot be imported: a package's name has lower-case letters, digits and "
            "underscores, begins with a letter and is no word of Python's"
        )
    spec, distribution = find_spec(package), make_distribution_name(package)
    if package == FIRST_PARTY or package in sys.stdlib_module_names or (spec and spec.origin):
        raise ConfigError(
            f"{place} is taken: a module of this name is installed. Choose another one"
        )
    if any(metadata.distributions(name=distribution)):
        raise ConfigError(f"{place} is taken: {distribution} is installed. Choose another one")


def check_option(stage: str, option: str) -> None:
    """Raise ConfigError where a name is not valid for an option, or is taken."""
    place = f"{stage}={option}"
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", option):
        raise ConfigError(
            f"task.option: {place} will not do: a name begins with a letter, and has letters, "
            "digits, _ and - alone"
        )
    groups = ("ranker", "reranker") if stage == "ranker" else (stage,)
    for group in groups:
        taken = plugins.load().registry.options(group)
        if option in taken or option in variants(group) or option in GROUPS:
            holder = f" by {taken[option].distribution}" if option in taken else ""
            raise ConfigError(
                f"{place} is taken{holder}: choose a name with a prefix of your own, "
                "task.option=..."
            )


def make_distribution_name(package: str) -> str:
    """The name under which a package is published, and its folder's: never the package's own.

    Where a folder has the name of the package in it, Python imports the folder instead of the
    package if it is started beside the folder.
    """
    dashed = package.replace("_", "-")
    return dashed if dashed != package else f"convrag-{package}"


def make_class_name(option: str, stage: str) -> str:
    """The name of the class: AcmeRewriter, both for the rewriter `acme_rewriter` and for the
    rewriter `acme`.
    """
    words = [word for word in option.replace("-", "_").split("_") if word]
    kind = "LLM" if stage == "llm" else stage.capitalize()
    if words[-1].lower() == stage:
        words = words[:-1]
    return "".join(word[:1].upper() + word[1:] for word in words) + kind
