"""Fixtures that speed/ and quality/ share with the tests.

Run `pytest benchmarks/speed/test_speed.py -n 0 -s`.
"""

from fixtures import database, here, mtrag_path  # noqa: F401
