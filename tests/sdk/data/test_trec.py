"""Ids in TREC's files: one column each, no two alike, and given back."""

import pytest
from hypothesis import given, strategies as st

from convrag.sdk.data.trec import decode_id, encode_id

_IDS = st.text(st.sampled_from([*"%209AC8E1Fx \t\x85\xa0\u2009\u3000"]), min_size=1) | st.text(
    min_size=1
)


@given(_IDS)
def test_an_id_is_one_column_and_is_given_back(name: str) -> None:
    column = encode_id(name)
    assert column.split() == [column]
    assert decode_id(column) == name


@pytest.mark.parametrize("name", ["https://a.org/b%2Fc?d=%C3%A9", "100%", "plain_id#3", "Größe"])
def test_what_needs_no_code_stays_readable(name: str) -> None:
    assert encode_id(name) == name == decode_id(name)
