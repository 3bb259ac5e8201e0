"""The parts of the layout that pyproject.toml cannot say: conf/ becomes convrag.conf, plugins/ is a second root."""

from pathlib import Path

from setuptools import find_namespace_packages, find_packages, setup
from setuptools.command.editable_wheel import editable_wheel

HERE = Path(__file__).parent.resolve()
kernel = find_packages(".", include=["convrag", "convrag.*"])
plugins = find_packages("plugins") + find_namespace_packages("plugins", include=["hydra_plugins.*"])


class EditableWheel(editable_wheel):
    """`pip install -e`, in which editors and type checkers find the packages as well.

    For two roots setuptools installs an import hook, which only a running Python can ask. mypy, pyright and editors
    read .pth files, so the roots stand in one; convrag.conf is still found by the hook.
    """

    def _select_strategy(self, *args, **kwargs):
        strategy = super()._select_strategy(*args, **kwargs)
        return strategy if self.mode else WithRoots(strategy)  # the modes strict and compat have paths of their own


class WithRoots:
    """How setuptools makes an editable wheel, with a .pth file of our two roots in it."""

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
    cmdclass={"editable_wheel": EditableWheel},
    packages=[*kernel, "convrag.conf", *plugins],
    package_dir={"convrag.conf": "conf", **{name: "plugins/" + name.replace(".", "/") for name in plugins}},
    package_data={
        "convrag": ["py.typed", "sdk/*.jinja"],
        "convrag.conf": ["*.yaml", "**/*.yaml"],
        **{
            name: ["*.jinja", "*.yaml", "sample/**", "templates/**", "page/**", "view/**", "docs/**"]
            for name in plugins
        },
    },
)
