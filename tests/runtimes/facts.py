"""Facts about the node, told one per line and as JUnit."""
import contextlib
import shlex
import subprocess
import sys
import time
import traceback
import xml.etree.ElementTree as ElementTree


class Skipped(Exception):
    """What is missing on this machine."""


class Unfounded(Exception):
    """What later facts stand on does not hold."""


class Facts:
    def __init__(self, part):
        self.part = part
        self.suite = ElementTree.Element("testsuite", name=part)

    @contextlib.contextmanager
    def fact(self, text, basis=False):
        """Holds when the block ends, does not when it throws. `basis`: if it does not, there are no others to try."""
        case = ElementTree.SubElement(self.suite, "testcase", classname=self.part, name=f"{self.part}: {text}")
        began = time.monotonic()
        verdict, why = "ok", ""
        try:
            yield
        except Skipped as skipped:
            verdict, why = "SKIPPED", str(skipped)
            ElementTree.SubElement(case, "skipped")
        except Exception as error:
            verdict, why = "FAIL", self._explain(error)
            ElementTree.SubElement(case, "failure", message=why)
        case.set("time", f"{time.monotonic() - began:.3f}")
        ElementTree.SubElement(case, "system-out").text = why
        print(f"{verdict:7} {self.part}: {text}" + (f": {why}" if why else ""), flush=True)
        if basis and verdict != "ok":
            raise Unfounded

    @staticmethod
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

    @property
    def failed(self):
        return self.suite.find("testcase/failure") is not None

    def write(self, file):
        ElementTree.ElementTree(self.suite).write(file, encoding="utf-8", xml_declaration=True)
