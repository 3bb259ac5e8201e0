"""The parts of the layout that pyproject.toml cannot say: conf/ becomes convrag.conf, plugins/ is a second root."""

from setuptools import find_namespace_packages, find_packages, setup

kernel = find_packages(".", include=["convrag", "convrag.*"])
plugins = find_packages("plugins") + find_namespace_packages("plugins", include=["hydra_plugins.*"])

setup(
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
