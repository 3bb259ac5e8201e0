"""File names made of a user's names: of a domain, a conversation, a measure. A name never becomes a path.

encode_name("clapnq") == "clapnq"; encode_name("sales/eu") == "sales%2Feu"
"""

from __future__ import annotations

import re
from hashlib import blake2b
from urllib.parse import quote

_LONGEST = 120  # of the 255 bytes that file systems allow: leaves room for suffixes and for names made of several
_KEPT = 60  # characters of a name that is too long
_CAPITALS, _HASHED = "%=", "%+"  # no percent-encoded text has these
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)  # devices of Windows, whatever follows


def encode_name(name: str) -> str:
    """Make the name of a file or a folder, without suffix, of any text: ASCII, at most 120 characters.

    Letters, digits, inner dots and any of "-_@=+," stay as they are, all else is percent-encoded. Different texts give
    names that differ even where the file system ignores case: of "Sales", the number in "Sales%=1" says which letters
    are capitals. A name that would be too long is cut, and ends with a hash of the text.
    """
    encoded = quote(name, safe="@=+,", errors="surrogatepass").replace("~", "%7E")
    if encoded.startswith(".") or _RESERVED.match(encoded):
        encoded = f"%{ord(encoded[0]):02X}{encoded[1:]}"
    if encoded.endswith("."):
        encoded = f"{encoded[:-1]}%2E"
    letters = [sign.isupper() for sign in name if sign.isascii() and sign.isalpha()]
    if any(letters) or not name:
        encoded += f"{_CAPITALS}{sum(1 << place for place, capital in enumerate(letters) if capital):x}"
    if len(encoded) <= _LONGEST:
        return encoded
    full = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{encoded[:_KEPT]}{_HASHED}{full}"
