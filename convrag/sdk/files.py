"""Files that are written whole or not at all, and names for them."""

import unicodedata
from pathlib import Path

from convrag.store.files import (
    encode_name as encode_name,
    open_atomically as open_atomically,
    write_atomically as write_atomically,
    writing as writing,
)


def find_stored_path(path: Path) -> Path:
    """Return a path as the file system writes it, if only Unicode's normal form differs.

    macOS writes accents as characters of their own (NFD), keyboards compose them (NFC). A path that
    exists in neither form stays as it is.
    """
    if path.exists():
        return path
    for form in ("NFC", "NFD"):
        other = Path(unicodedata.normalize(form, str(path)))
        if other.exists():
            return other
    return path
