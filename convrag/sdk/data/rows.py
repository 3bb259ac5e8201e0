"""The row of a turn in JSON files, checked when it is read."""

from convrag.api.rows import RecordRow as RecordRow, make_plain as make_plain
