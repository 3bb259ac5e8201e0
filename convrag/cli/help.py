"""The text of --help: all options with a line for each, or one option with its parameters.

Only an option that is asked for, or that was registered without a summary, is imported for it.
"""

import inspect
import textwrap
from collections.abc import Iterable, Iterator

from convrag.api.groups import GROUPS
from convrag.config.settings import PRESETS, list_settings
from convrag.config.variants import default_options, variants, variants_of
from convrag.registry import plugins
from convrag.registry.option import Option

_TEXT = """\
convrag: conversational retrieval-augmented generation, put together from plugins.

  python -m convrag                                     run the bundled sample
  python -m convrag rewriter=last_n rewriter.n=3        choose a stage, set a parameter
  python -m convrag -m rewriter=none,last_n             a grid: every combination
  python -m convrag --help rewriter=threshold           the parameters of an option
  python -m convrag rewriter=threshold --cfg job        show a configuration, run nothing
  python -m convrag --config-dir mine +seed=short       a preset of your own: mine/seed/short.yaml

Each stage's parameters are <group>.<parameter>=value. A * marks the options that run unless others
are chosen.

{options}

Exit status: 0; 3 partial (some turns failed, say); 1 failed; 2 a mistake in the command or its
data; 130 interrupted.
"""

_DESCRIPTIONS = {
    "ranker": (
        "ranks the clusters of nuggets from which generator=ginger answers; passages are ranked by "
        "reranker"
    ),
    "reranker": "ranks the retrieved passages again, with the options of ranker",
}
"""Group -> what its stages do, where two groups share a class."""

_WIDTH = 100


def make_help(overrides: Iterable[str]) -> str:
    """Return the text of --help: of the options that the overrides choose, or of all.

    Raises:
        UnknownName: there is no such option.
        PluginError: the option's class cannot be imported.
    """
    chosen = list(_find_chosen(overrides))
    if chosen:
        return "\n\n".join(describe_choice(group, name) for group, name in chosen)
    return _TEXT.format(options=list_options())


def _find_chosen(overrides: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the group and the name of each option that the overrides choose."""
    for override in overrides:
        key, _, value = override.lstrip("+~").partition("=")
        group = key.partition("@")[0]
        if group in GROUPS:
            names = [name.strip() for name in value.strip("[]").split(",")]
            yield from ((group, name) for name in names if name)


def list_options() -> str:
    """Return the options of each group with a line for each, and the settings."""
    registry = plugins.load().registry
    lines = ["Stages (group=option):"]
    for group in GROUPS:
        options = registry.options(group)
        if options:
            lines += ["", f"  {group}: {_describe_group(group)}"]
        if options and group != "reranker":  # its options are those of ranker
            lines += _list_group(group, options.values())
    for group, text in PRESETS.items():
        lines += ["", f"  +{group}=...: {text}"]
        lines += [_format_line(name, text) for name, text in variants(group).items()]
    lines += ["", "Settings (key=value):", ""]
    lines += [f"  {f'{name}={default}':<24} {text}" for name, default, text in list_settings()]
    lines += [f"\n{failure}" for failure in registry.failures]
    return "\n".join(lines)


def _list_group(group: str, options: Iterable[Option]) -> list[str]:
    texts = {option.name: option.help for option in options} | variants(group)
    default = default_options().get(group)
    return [
        _format_line(f"{name} *" if name == default else name, text)
        for name, text in sorted(texts.items())
    ]


def _format_line(name: str, text: str) -> str:
    return f"    {name:<22} {text}"


def _describe_group(group: str) -> str:
    """Return what the stages of a group do, in a line."""
    text = _DESCRIPTIONS.get(group) or (inspect.getdoc(GROUPS[group]) or "").partition("\n")[0]
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


def describe_choice(group: str, name: str) -> str:
    """Return an option, or a variant of one, with its parameters in words.

    Raises as `make_help`.
    """
    registry = plugins.load().registry
    options = registry.options(group)
    found = {each.name: each for each in variants_of(group)}
    lines = [f"{group}={name}"]
    while name in found and name not in options:
        variant = found[name]
        values = ", ".join(f"{key}={value}" for key, value in variant.values.items())
        lines += [f"  {variant.help}", f"  {variant.extends} with {values or 'its defaults'}"]
        name = variant.extends
    if name not in options:
        registry.check_name(group, name)
        raise registry.make_unknown(group, name, [*options, *found])
    return "\n".join([*lines, *_describe_option(group, options[name])])


def _describe_option(group: str, option: Option) -> Iterator[str]:
    from convrag.registry.option_text import describe_option  # only the help of an option needs it

    described = describe_option(option)
    yield f"  {option.help}"
    for paragraph in described.details.split("\n\n"):
        if paragraph.strip():
            yield ""
            yield from _wrap(paragraph, "  ")
    for parameter in described.parameters:
        default = "required" if parameter.default == "required" else f"= {parameter.default}"
        yield f"\n  {group}.{parameter.name}: {parameter.type} {default}"
        yield from _wrap(parameter.help, "      ")
    missing = option.missing_extra()
    if missing:
        yield f"\n  {missing}"


def _wrap(text: str, indent: str) -> list[str]:
    flat = " ".join(text.split())
    return textwrap.wrap(flat, _WIDTH, initial_indent=indent, subsequent_indent=indent)
