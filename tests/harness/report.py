"""Facts, told one per line and as JUnit."""
import contextlib
import json
import shlex
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from xml.etree import ElementTree

OK, FAIL, SKIPPED = "ok", "FAIL", "SKIPPED"
# A launcher's exit status where the machine cannot run its suite.
CANNOT = 77


class Skipped(Exception):
    """This machine lacks something, which the text names."""


class Unfounded(Exception):
    """A fact that later facts stand on does not hold."""


@dataclass
class Outcome:
    name: str
    verdict: str
    reason: str
    seconds: float


class Facts:
    def __init__(self, suite):
        self.suite = suite
        self.outcomes = []

    @contextlib.contextmanager
    def fact(self, text, basis=False):
        """Holds when the block ends, does not when it throws. `basis`: if it does not, there are no others to try."""
        began = time.monotonic()
        verdict, why = OK, ""
        try:
            yield
        except Skipped as skipped:
            verdict, why = SKIPPED, str(skipped)
        except Exception as error:
            verdict, why = FAIL, _explain(error)
        self.outcomes.append(Outcome(f"{self.suite}: {text}", verdict, why, time.monotonic() - began))
        print(f"{verdict:7} {self.suite}: {text}" + (f": {why}" if why else ""), flush=True)
        if basis and verdict != OK:
            raise Unfounded

    def collect(self, check):
        """check(self) states them; that it throws is one that does not hold."""
        try:
            check(self)
        except Unfounded:
            pass
        except Exception as error:
            with self.fact("comes to its end"):
                raise error
        return self

    @property
    def failed(self):
        return any(outcome.verdict == FAIL for outcome in self.outcomes)

    def packed(self):
        """For a process that unpacks them."""
        return json.dumps([asdict(outcome) for outcome in self.outcomes]).encode()


def _explain(error):
    if isinstance(error, subprocess.CalledProcessError):
        said = (error.stderr or error.stdout or "").strip()
        return f"{shlex.join(map(str, error.cmd))} ended with {error.returncode}: {said}"
    if isinstance(error, AssertionError) and error.args:
        return str(error)
    if hasattr(error, "details"):  # gRPC's
        return error.details()
    traceback.print_exception(error, file=sys.stderr)
    return f"{type(error).__name__}: {error}"


def unpack(packed):
    """The outcomes; without any their process did not live to tell."""
    if not packed:
        sys.exit("no node: what was said stands above")
    return [Outcome(**each) for each in json.loads(packed)]


def conclude(suites, junit=None):
    """The exit status. suites: {name: outcomes}; junit: a file for them."""
    if junit:
        write_junit(junit, suites)
    return 1 if any(outcome.verdict == FAIL for outcomes in suites.values() for outcome in outcomes) else 0


def write_junit(file, suites):
    root = ElementTree.Element("testsuites")
    for name, outcomes in suites.items():
        count = [outcome.verdict for outcome in outcomes].count
        suite = ElementTree.SubElement(root, "testsuite", name=name, tests=str(len(outcomes)), failures=str(count(FAIL)),
                                       skipped=str(count(SKIPPED)))
        for outcome in outcomes:
            case = ElementTree.SubElement(suite, "testcase", name=outcome.name, classname=name, time=f"{outcome.seconds:.3f}")
            if outcome.verdict != OK:
                ElementTree.SubElement(case, "failure" if outcome.verdict == FAIL else "skipped", message=outcome.reason)
            ElementTree.SubElement(case, "system-out").text = outcome.reason
    ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
