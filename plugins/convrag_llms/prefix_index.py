"""Which server has seen the beginning of a prompt, so that it has that part computed already."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

BLOCK = 256
"""Characters that are compared at once. Servers compare blocks of 16 tokens or more, some 64 characters."""

MOST_BLOCKS = 2**16
"""The blocks that are known, of the prompts that came last: some 16 million characters."""

SHARED = 4
"""A beginning that went on in more ways than this is one that all prompts share, and of no conversation."""


@dataclass
class _Block:
    server: int
    ways: int = 0


class PrefixIndex:
    """The prompts of the past in blocks, each with the server that has seen it last.

    Inference servers keep what they have computed for a prompt's beginning (vLLM's and SGLang's prefix caching), and a
    conversation's next prompt begins as the last one did. Routers of such servers go by this, too (SGLang's
    cache-aware load balancing). Not for several threads at once.
    """

    def __init__(self) -> None:
        self._blocks: OrderedDict[bytes, _Block] = OrderedDict()

    def find(self, names: Sequence[bytes]) -> int | None:
        """Return the server that has seen most of a prompt (of `name_blocks`); None where no conversation is known."""
        longest: _Block | None = None
        for name in names:
            if (block := self._blocks.get(name)) is None:
                break
            longest = block
        return longest.server if longest and longest.ways <= SHARED else None

    def add(self, names: Sequence[bytes], server: int) -> None:
        """Note that a server is given a prompt."""
        before: _Block | None = None
        for name in names:
            if (block := self._blocks.get(name)) is None:
                block = self._blocks[name] = _Block(server)
                if before:
                    before.ways += 1
            block.server = server
            self._blocks.move_to_end(name)
            before = block
        while len(self._blocks) > MOST_BLOCKS:
            self._blocks.popitem(last=False)


def name_blocks(messages: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Name the blocks of a prompt, each by a hash of the text up to its end. An incomplete last one is left out."""
    text = "\0".join(f"{message['role']}\0{message['content']}" for message in messages)
    names, name = [], b""
    for start in range(0, len(text) - BLOCK + 1, BLOCK):
        block = text[start : start + BLOCK].encode("utf-8", "surrogatepass")
        name = blake2b(name + block, digest_size=16).digest()
        names.append(name)
    return names
