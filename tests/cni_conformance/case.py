"""Cases: a function with an id, a level and the versions of the specification that it speaks of."""
from dataclasses import dataclass
from typing import Callable

from harness.result_form import rank

CASES = {}


class NotApplicable(Exception):
    """The case cannot be asked of this plugin with this configuration."""


@dataclass(frozen=True)
class Case:
    id: str
    level: str
    since: str
    until: str
    each: bool
    slow: bool
    run: Callable

    @property
    def gist(self):
        return " ".join(self.run.__doc__.split())

    def versions(self, supported):
        """Those of the plugin that it runs at: all in its range, or the newest of them."""
        inside = [v for v in supported if rank(self.since) <= rank(v) <= rank(self.until)]
        return inside if self.each else inside[-1:]


def case(identity, level, since="0.1.0", until="1.1.0", each=False, slow=False):
    """Level: MUST, SHOULD, MAY as the specification says; REF: what libcni and its runtimes do or need; HARD: beyond it.
    each: the case runs at every version of its range that the plugin supports, not at the newest only.
    slow: it waits for a time limit of the plugin's, and begins first."""

    def register(run):
        if identity in CASES:
            raise ValueError(f"two cases {identity}")
        CASES[identity] = Case(identity, level, since, until, each, slow, run)
        return run

    return register
