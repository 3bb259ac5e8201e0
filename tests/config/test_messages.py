"""Arguments that are no overrides are told what to type."""

import pytest

from convrag.api.errors import ConfigError
from convrag.config.compose import compose


@pytest.mark.parametrize(
    ("argument", "parts"),
    [
        ("chat", ["chat: ", "Did you mean task=chat?"]),
        ("dance", ["dance: ", "key=value", "task=chat", "--help"]),
        ("chta", ["Did you mean task=chat?"]),
        ("mmr", ["=mmr?", "without blanks beside '='"]),
        ("rewriter", ["write rewriter=NAME, or -m rewriter=NAME,NAME", "task.stage=rewriter"]),
        ("rewriter=mmr,", ["no blanks between values: rewriter=mmr,NAME"]),
        ("system", ["Did you mean +system=NAME?"]),
        ("rewriter:mmr", ["key=value"]),
        ("=mmr", ["the key is missing before '='"]),
        ("llm.model=a=b", ["""'llm.model="a=b"'"""]),
        ("rewriter=mmr;dhrag", ["quotation marks"]),
        ("rewriter=mmr,dhrag", ["a grid, which needs -m", "-m rewriter=mmr,dhrag"]),
        ("rewriter = mmr", ["no blanks beside '='", "rewriter=mmr"]),
        ("+rewriter=mmr", ["without a plus: rewriter=mmr"]),
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
