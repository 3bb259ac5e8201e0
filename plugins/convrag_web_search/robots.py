"""What a site allows to be fetched: robots.txt, by RFC 9309."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

AGENT = "convrag"
"""The name by which a robots.txt can address convrag."""


@dataclass(frozen=True)
class Rule:
    """A line of a group.

    Args:
        pattern: of paths, with * for any text and $ for the end.
        allows: whether it allows them.
    """

    pattern: str
    allows: bool

    def matches(self, path: str) -> bool:
        """Whether the rule is about a path.

        Each part between stars is found as early as it can be, so that the time is in proportion to
        the path however many stars a stranger writes.
        """
        anchored = self.pattern.endswith("$")
        first, *rest = [unquote(part) for part in self.pattern.removesuffix("$").split("*")]
        if not path.startswith(first):
            return False
        last = rest.pop() if rest and anchored else None
        place = len(first)
        for part in rest:
            found = path.find(part, place)
            if found < 0:
                return False
            place = found + len(part)
        if last is not None:
            return path.endswith(last) and len(path) - len(last) >= place
        return not anchored or place == len(path)


def parse_rules(text: str, agent: str = AGENT) -> list[Rule]:
    """Parse the rules for an agent: those of the groups that name it, else those for everybody."""
    groups: dict[str, list[Rule]] = {}
    names: list[str] = []
    has_rules = False
    for line in text.splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key = key.strip().lower()
        value = value.strip()
        if key == "user-agent":
            names = [value.lower()] if has_rules else [*names, value.lower()]
            has_rules = False
            groups.setdefault(value.lower(), [])
        elif key in ("allow", "disallow"):
            has_rules = True
            for name in names if value else []:
                groups[name].append(Rule(value, key == "allow"))
    return groups.get(agent, groups.get("*", []))


def allows(rules: Sequence[Rule], path: str) -> bool:
    """Whether rules allow a path: the longest rule about it counts, of equal ones the kinder."""
    plain = unquote(path) or "/"
    found = [rule for rule in rules if rule.matches(plain)]
    if not found:
        return True
    return max(found, key=lambda rule: (len(rule.pattern), rule.allows)).allows
