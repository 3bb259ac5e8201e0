"""A small disk for a command: a tmpfs in the folder `small` that no other process sees."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest


@cache
def can_mount() -> bool:
    """Whether this user may mount a small disk, where no other process sees it."""
    if not (shutil.which("unshare") and os.geteuid() == 0):
        return False
    return not subprocess.run(
        ["unshare", "-m", "true"], check=False, capture_output=True
    ).returncode


SCRIPT = """
mkdir -p small && mount -t tmpfs -o size=$SIZE tmpfs small || exit 99
"$@"
status=$?
find small
exit $status
"""


def run_on_small_disk(
    folder: Path, command: Sequence[str], *, size: str = "600k"
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder whose `small` is a small disk; what is on that disk is listed after
    its output.

    The files of the folder's `planted` are copied to the disk before it becomes read-only. Skips
    where nothing can be mounted.
    """
    if not can_mount():
        pytest.skip("this user mounts nothing")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", SCRIPT, "sh", *command],
        cwd=folder,
        env={**os.environ, "SIZE": size},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode != 99, done.stderr
    return done
