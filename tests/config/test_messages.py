"""Arguments that are no overrides are told what to type."""

from __future__ import annotations

import pytest

from convrag.api.errors import ConfigError
from convrag.config.compose import compose


@pytest.mark.parametrize(
    ("argument", "parts"),
    [
        ("chat", ["chat: type task=chat"]),
        ("help", ["help: type --help"]),
        ("run", ["run: type task=run"]),
        ("plugins", ["plugins: type task=plugins"]),
        ("serve", ["serve: type task=serve"]),
        ("dance", ["dance: ", "key=value", "task=chat", "--help"]),
        ("chta", ["Did you mean task=chat?"]),
        ("mmr", ["did you mean rewriter=mmr", "no blanks beside '='"]),
        ("rewriter", ["which one? rewriter=NAME", "full_history"]),
        ("system", ["which one? +system=NAME", "ragboost"]),
        ("rewriter:mmr", ["rewriter=mmr"]),
        ("=mmr", ["the key is missing before '='"]),
        ("llm.model=a=b", ["""'llm.model="a=b"'"""]),
        ("rewriter=mmr;dhrag", ["quotation marks"]),
        ("rewriter=mmr,dhrag", ["a grid, which needs -m", "-m rewriter=mmr,dhrag"]),
        ("rewriter = mmr", ["no blanks beside '='", "rewriter=mmr"]),
        ("+rewriter=mmr", ["without a plus: rewriter=mmr"]),
        ("metrics=[ranking", ["a bracket is opened and not closed"]),
        ("rewriter=choice(none,mmr", ["a bracket is opened and not closed"]),
        ("rewriter='mmr", ["rewriter='mmr"]),
        ("rewriter=[mmr", ["rewriter=[mmr"]),
        ("rewriter=MMR", ["Did you mean 'mmr'?"]),
        ("REWRITER=mmr", ["Did you mean 'rewriter'?"]),
    ],
)
def test_it_is_told_what_to_type(argument: str, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        compose(argument)
    for part in parts:
        assert part in str(caught.value)
    assert not {"EQUAL", "LexerNoViableAlt", "hydra.cc"} & {*str(caught.value).split()}
