"""What all tests share: fixtures, and how many threads a worker has.

Fixtures of tests/support/ are imported here and nowhere else: a module that imports one has a
fixture of its own by that name, and pytest would start another server for it.
"""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from commands import fork_python
from fixtures import database, here, mtrag_path  # noqa: F401
from postgres_server import postgres, vector_postgres  # noqa: F401
from search_engines import any_engine, started_engine  # noqa: F401
from slurm_cluster import slurm  # noqa: F401
from small_model import small_model  # noqa: F401

if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # each core has a worker: more threads would only take turns
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault(
        "NUMBA_NUM_THREADS", "1"
    )  # else numba sets OpenMP's number anew, for the main thread alone

# As our plugins have it: a test may import litellm before one of them, which would wait for a list
# of prices.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


# The same examples each time, however long a busy machine takes; `pytest
# --hypothesis-profile=others` draws others.
CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=CHECKS)
settings.register_profile("others", settings.get_profile("fixed"), derandomize=False)
settings.load_profile("fixed")


def pytest_configure() -> None:
    """Fork the processes of the contracts' tests: there are more than a hundred."""
    gc.disable()  # until all is imported: a quarter of that would be collections that find nothing
    from convrag.testing import new_process  # behind the variables above, which numpy reads

    new_process.start = fork_python


def pytest_collection_finish() -> None:
    """Let collections from now on leave out what was imported: each would look at millions of
    objects.
    """
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what would cost money, unless it is asked for."""
    for item in items:
        if item.get_closest_marker("live") and not os.environ.get("CONVRAG_LIVE"):
            item.add_marker(pytest.mark.skip(reason="CONVRAG_LIVE=1 asks providers and clusters"))
