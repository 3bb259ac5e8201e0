"""Which process logs a run: a mark that its run carries as a tag, by which a later command knows that it is gone."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

_PROC = Path("/proc")


def mark_process() -> str:
    """What tells this process from all others, as JSON; empty where the system has no /proc (it is Linux's)."""
    try:
        row = {"host": platform.node(), "pid": os.getpid(), "started": _read_stat(os.getpid())[1], **_read_table()}
    except OSError:
        return ""
    return json.dumps(row)


def is_gone(mark: str) -> bool:
    """Whether the process of a mark has surely ended.

    It has where this process sees the same table of processes (that of the same machine, started once, and of the same
    container), and the table has no such process, a dead one, or another one under its number. Where the tables are
    not the same, nobody knows: False.
    """
    try:
        row = json.loads(mark)
        pid, started, table = int(row["pid"]), row["started"], {name: row[name] for name in ("boot", "namespaces")}
        if table != _read_table():
            return False
        os.kill(pid, 0)  # signal 0 only asks; the processes of other users may be hidden in /proc
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it exists
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        return False
    try:
        state, now = _read_stat(pid)
    except OSError:
        return False
    return now != started or state in "ZX"


def describe_process(mark: str) -> str:
    """A mark for people: "process 123 on host"."""
    if not mark:
        return "its process"
    row = json.loads(mark)
    return f"process {row['pid']} on {row['host']}"


def _read_table() -> dict[str, Any]:
    """What stands for the table of processes that this one sees: the start of the system, and the namespaces."""
    boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    spaces = [_PROC / "self/ns" / name for name in ("pid", "time")]  # old systems have no time namespaces
    return {"boot": boot, "namespaces": [str(space.readlink()) for space in spaces if space.is_symlink()]}


def _read_stat(pid: int) -> tuple[str, str]:
    """The state of a process (a letter), and when it started, in ticks since the start of the system (see proc(5))."""
    text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    fields = text.rpartition(")")[2].split()
    return fields[0], fields[19]
