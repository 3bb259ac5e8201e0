"""The contract of all stages: how a stage describes itself, and what its fingerprint must cover."""

import inspect
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import SkipTest, mock

from convrag.api.groups import GROUPS, options_group
from convrag.api.stage import Stage
from convrag.registry.option import Option
from convrag.registry.parameters import read_argument_texts
from convrag.sdk.llm.prompts import PromptTemplate
from convrag.testing.libraries import block_network, find_heavy_imports
from convrag.testing.stage_variants import INVALID, StageVariants, list_small_files, try_edits

_ADDRESS = re.compile(r"(^|_)(url|uri|host|hosts|base|endpoint|address|server)(_|$)", re.IGNORECASE)


class StageContract:
    """The tests of all stages.

    Contracts of the kinds of stages set the `group`; a plugin's test class implements `make`.
    """

    group: str

    network = False
    """Whether the stage needs a server; its tests may then reach servers on this machine only."""

    def make(self) -> Any:
        """Make a new stage to test by calling its class."""
        raise NotImplementedError("implement make() in your test class: return a fresh stage")

    def call(self, stage: Any) -> Any:
        """Use the stage once in the ordinary way; return a result that can be compared with ==."""
        return list(stage.check())

    def test_it_is_a_stage_of_its_group(self) -> None:
        assert isinstance(self.make(), GROUPS[self.group])

    def test_it_says_what_it_is(self) -> None:
        """The first line of the docstring is shown by --help."""
        doc = inspect.getdoc(type(self.make())) or ""
        is_own = doc not in ("", inspect.getdoc(GROUPS[self.group]))
        assert is_own, "give the class a docstring of its own"
        _, _, rest = doc.partition("\n")
        is_one_line = not rest.strip() or rest.startswith("\n")
        assert is_one_line, "leave a blank line after the docstring's first line"

    def test_it_explains_its_parameters(self) -> None:
        """Each has a line under `Args:`, which task=plugins shows."""
        option = self.option()
        texts = read_argument_texts(option.cls)
        unexplained = [name for name in option.configurable if not texts.get(name)]
        assert not unexplained, f"explain under Args: in the docstring: {', '.join(unexplained)}"

    def test_it_becomes_an_option(self) -> None:
        """A typed schema can be made of its constructor's signature."""
        option = self.option()
        assert option.schema is not None
        untyped = [name for name, parameter in option.parameters.items() if parameter.type is Any]
        assert not untyped, f"annotate {', '.join(untyped)}"
        kinds = {parameter.kind for parameter in inspect.signature(option.cls).parameters.values()}
        unnamed = {
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        }
        advice = "let the constructor take named parameters only: no *args, no **kwargs"
        assert not kinds & unnamed, advice

    def test_its_module_is_light(self) -> None:
        """Every start of the command may import it, so it must not import heavy libraries."""
        cls = type(self.make())
        if cls.__module__ == type(self).__module__:
            raise SkipTest("the class is defined in the test's module")
        heavy = find_heavy_imports(cls.__module__)
        assert not heavy, f"{cls.__module__} imports {', '.join(heavy)}: do so inside methods"

    def test_nothing_is_missing(self) -> None:
        assert list(self.make().check()) == []

    def test_it_stays_offline(self) -> None:
        """A stage must not depend on a server unless it says so: `network = True`."""
        with block_network(allow_loopback=self.network) as hosts:
            self.call(self.make())
        assert not hosts, f"it tried to reach {', '.join(hosts)}"

    def test_its_fingerprint_follows_its_parameters(self) -> None:
        """Results are cached under the fingerprint: it covers everything that they depend on."""
        variants = StageVariants(self.make, self.option())
        fingerprint = variants.compute_fingerprint()
        is_stable = variants.compute_fingerprint() == fingerprint
        assert is_stable, "content_hash() returns something else each time"
        for name, changed in variants.find_changes():
            if not variants.parameters[name].operational:
                assert variants.compute_fingerprint(**changed) != fingerprint, (
                    f"{name} is not in the fingerprint"
                )

    def test_its_fingerprint_follows_its_files(self) -> None:
        """The contents of a file that a parameter names may change, and its name may stay."""
        option = self.option()
        variants = StageVariants(self.make, option)
        for name in option.configurable:
            value = variants.get_value(name)
            if variants.parameters[name].operational or not list_small_files(value):
                continue
            with TemporaryDirectory() as folder:
                copy = Path(folder, Path(value).name)
                copy_contents = shutil.copytree if Path(value).is_dir() else shutil.copyfile
                copy_contents(value, copy)
                changed = {name: type(value)(copy)}
                before = variants.compute_fingerprint(**changed)
                after = {
                    variants.compute_fingerprint(**changed)
                    for _ in try_edits(variants, changed, copy)
                }
            assert after != {before}, (
                f"the contents of the file that {name} names are not in the fingerprint: let the "
                f"parameter be a Path, or return a hash of the contents in content_hash()"
            )

    def test_its_fingerprint_follows_its_server(self) -> None:
        """An address may come from the environment: another server gives other results."""
        variables = [name for name in type(self.make()).env_vars if _ADDRESS.search(name)]
        if not variables:
            return
        variants = StageVariants(self.make, self.option())
        fingerprints = []
        for number in (1, 2):
            environment = dict.fromkeys(variables, f"http://127.0.0.{number}:9")
            with mock.patch.dict(os.environ, environment), suppress(*INVALID):
                fingerprints.append(variants.compute_fingerprint())
        assert len(set(fingerprints)) == len(fingerprints), (
            f"the address in {' or '.join(variables)} is not in the fingerprint: return it in "
            "endpoints()"
        )

    def test_its_fingerprint_follows_its_prompts(self) -> None:
        """The templates of prompts are part of the fingerprint if `prompt_templates` names them."""
        stage = self.make()
        named = [(each.task, each.source) for each in stage.prompt_templates]
        unnamed = [
            name
            for name, value in vars(stage).items()
            if isinstance(value, PromptTemplate) and (value.task, value.source) not in named
        ]
        assert not unnamed, (
            f"name self.{', self.'.join(unnamed)} in self.prompt_templates, in the constructor"
        )

    def option(self) -> Option:
        """Make an option of the stage's class."""
        cls: type[Stage] = type(self.make())
        option = Option(options_group(self.group), "under_test", cls, "plugin", "distribution")
        vars(option)["cls"] = cls  # unchecked: another test shows whether the group refuses it
        return option
