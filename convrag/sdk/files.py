"""Files that are written whole or not at all, and names for them."""

from convrag.store.files import (
    encode_name as encode_name,
    open_atomically as open_atomically,
    write_atomically as write_atomically,
    writing as writing,
)
