"""The parts of the build that pyproject.toml cannot express.

conf/ becomes the package convrag.conf, plugins/ is a second source root, and README.md becomes the
description.
"""

import re
from pathlib import Path

from setuptools import find_namespace_packages, find_packages, setup
from setuptools.command.editable_wheel import editable_wheel

HERE = Path(__file__).parent.resolve()
kernel = find_packages(".", include=["convrag", "convrag.*"])
plugins = find_packages("plugins") + find_namespace_packages("plugins", include=["hydra_plugins.*"])


FENCE = r"^```.*?^```$"
CODE = r"`[^`\n]+`"
IMAGE = r"\n*!\[[^]]*\]\((?!\w+:)[^)]*\)"
FROM_REPOSITORY = "pip install git+https://github.com/convrag/convrag"
REGISTERED_AS = "mcp-name: io.github.convrag/convrag"  # by which the MCP registry knows the owner
LINK = r"\[(?P<text>[^]]+)\]\((?!\w+:)(?P<page>[^)#]*)(?:#[^)]*)?\)"


def describe(readme):
    """Rewrite README.md for a package index, which has neither our pages nor our images.

    `[the tutorial](docs/tutorial.md)` becomes `the tutorial (docs/tutorial.md)`,
    `[docs/llms.md](docs/llms.md)` the name alone; images go. Addresses (`https:...`) and code stay
    as they are, but for the installation from the repository: who reads this has the index. A last
    line says where the pages are.
    """
    readme = readme.replace(FROM_REPOSITORY, "pip install convrag")
    text = re.sub(f"(?ms){FENCE}|{CODE}|(?P<image>{IMAGE})|{LINK}", name_page, readme)
    pages = "The pages that are named here, and `docs`, are in the source distribution."
    return f"{text}\n{pages}\n\n<!-- {REGISTERED_AS} -->\n"


def name_page(found):
    """Name the page of a link, and remove an image; code stays."""
    text = found["text"]
    page = found["page"]
    if text is None:
        return "" if found["image"] else found[0]
    return text if not page or page.startswith(text) else f"{text} ({page})"


class EditableWheel(editable_wheel):
    """`pip install -e`, in which editors and type checkers find the packages as well.

    For two roots setuptools installs an import hook, which only a running Python can use. mypy,
    pyright and editors read .pth files, so one lists the roots; the hook still finds convrag.conf.
    """

    def _select_strategy(self, *args, **kwargs):
        strategy = super()._select_strategy(*args, **kwargs)
        if self.mode:  # the modes strict and compat have paths of their own
            return strategy
        return WithRoots(strategy)


class WithRoots:
    """The strategy of setuptools for an editable wheel, plus a .pth file with our two roots."""

    def __init__(self, strategy):
        self.strategy = strategy

    def __enter__(self):
        self.strategy.__enter__()
        return self

    def __exit__(self, *error):
        return self.strategy.__exit__(*error)

    def __call__(self, wheel, *files):
        self.strategy(wheel, *files)
        wheel.writestr("__editable__.convrag_roots.pth", f"{HERE}\n{HERE / 'plugins'}\n")


setup(
    long_description=describe((HERE / "README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
    cmdclass={"editable_wheel": EditableWheel},
    packages=[*kernel, "convrag.conf", *plugins],
    package_dir={
        "convrag.conf": "conf",
        **{name: "plugins/" + name.replace(".", "/") for name in plugins},
    },
    package_data={
        "convrag": ["py.typed", "sdk/**/*.jinja", "sdk/**/*.txt", "sdk/**/*.json"],
        "convrag.conf": ["*.yaml", "**/*.yaml"],
        **{
            name: [
                "*.jinja",
                "*.txt",
                "*.yaml",
                "sample/**",
                "templates/**",
                "page/**",
                "view/**",
                "docs/**",
            ]
            for name in plugins
        },
    },
)
