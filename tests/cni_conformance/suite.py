"""Runs cases, each on a node of its own, and tells about them."""
import json
import os
import selectors
import time
import traceback
from dataclasses import dataclass

from cni_conformance.case import NotApplicable
from harness import namespaces, report
from harness.expectation import Failed
from harness.process import REPOSITORY

WORDS = {"pass": "pass", "fail": "FAIL", "skip": "SKIP", "na": "n/a", "known": "known miss", "fixed": "NOW PASSES"}
CASE_SECONDS = 420


@dataclass
class Outcome:
    case: object
    verdict: str
    reason: str = ""
    seconds: float = 0.0

    def __str__(self):
        reason = f"  ({self.reason})" if self.reason else ""
        return f"{self.case.id:7} {self.case.level:6} {WORDS[self.verdict]:10} {self.case.gist}{reason}"


def where(error):
    """The innermost line of ours."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if str(REPOSITORY) in frame.filename]
    output = getattr(error, "stderr", None)
    return f"{os.path.basename(ours[-1].filename)}:{ours[-1].lineno}" + (f"; it said {output}" if output else "")


def run_case(case, make_node, target):
    """In namespaces of its own; gives (verdict, reason)."""
    versions = case.versions(target.supported)
    if not versions:
        return "na", f"of {case.since}..{case.until}; the plugin supports {', '.join(target.supported)}"
    node = None
    for version in versions:
        at = f"at {version}: " if case.each else ""
        try:
            node = node or make_node(target)
            node.version = version
            case.run(node)
        except Failed as failed:
            return "fail", at + str(failed)
        except NotApplicable as reason:
            return "na", str(reason)
        except report.Skipped as reason:
            return "skip", str(reason)
        except Exception as error:  # A defect of the suite, or of the machine: told as such.
            return "fail", at + f"the case broke: {type(error).__name__}: {error}; " + where(error)
        node.clean()
    return "pass", ""


class Suite:
    def __init__(self, target, make_node, known=(), jobs=None):
        self.target = target
        self.make_node = make_node
        self.known = set(known)
        self.jobs = jobs or 2 * (os.cpu_count() or 1)

    def start(self, case):
        return namespaces.start(lambda: json.dumps(run_case(case, self.make_node, self.target)).encode())

    def judge(self, case, verdict, reason, seconds):
        if case.id in self.known:
            verdict = {"fail": "known", "pass": "fixed"}.get(verdict, verdict)
        return Outcome(case, verdict, reason, seconds)

    def run(self, cases, told):
        """In parallel; told(outcome) as each ends. Gives the outcomes in the order of cases."""
        waiting, running, outcomes = sorted(cases, key=lambda case: not case.slow), {}, {}
        with selectors.DefaultSelector() as selector:
            while waiting or running:
                while waiting and len(running) < self.jobs:
                    case = waiting.pop(0)
                    pid, reader = self.start(case)
                    selector.register(reader, selectors.EVENT_READ)
                    running[reader] = (case, pid, time.monotonic(), bytearray())
                ended = [key.fd for key, _ in selector.select(1) if not self.read(key.fd, running[key.fd][3])]
                ended += [fd for fd, (_, pid, began, _) in running.items()
                          if time.monotonic() - began > CASE_SECONDS and fd not in ended]
                for reader in ended:
                    case, pid, began, said = running.pop(reader)
                    selector.unregister(reader)
                    os.close(reader)
                    namespaces.end(pid)
                    late = ["fail", f"no verdict; it ran {time.monotonic() - began:.0f} s"]
                    outcome = self.judge(case, *(json.loads(bytes(said)) if said else late), time.monotonic() - began)
                    outcomes[case.id] = outcome
                    told(outcome)
        return [outcomes[case.id] for case in cases]

    @staticmethod
    def read(reader, said):
        piece = os.read(reader, 65536)
        said += piece
        return piece


def print_table(outcomes):
    print("\nID      level  verdict    gist")
    for outcome in outcomes:
        print(outcome)
    counts = {verdict: sum(o.verdict == verdict for o in outcomes) for verdict in WORDS}
    told = [f"{count} {WORDS[verdict]}" for verdict, count in counts.items() if count]
    print(f"\n{len(outcomes)} cases: " + ", ".join(told))


def reported(outcomes):
    """For a report. What is not applicable is no test of this plugin, and is left out."""
    verdicts = {"fail": report.FAIL, "fixed": report.FAIL, "skip": report.SKIPPED}
    return [report.Outcome(f"{each.case.id} {each.case.gist}", verdicts.get(each.verdict, report.OK),
                           each.reason or (WORDS["fixed"] if each.verdict == "fixed" else ""), each.seconds)
            for each in outcomes if each.verdict != "na"]
