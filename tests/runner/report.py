"""What the tasks' JUnit files say."""
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass


@dataclass(frozen=True)
class Test:
    name: str
    verdict: str  # passed, failed, skipped
    said: str
    seconds: float


def read(report):
    """The tests of a JUnit file; none where the task wrote none."""
    try:
        cases = ElementTree.parse(report).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError):
        return []
    return [Test(case.get("name"), verdict(case), said(case), float(case.get("time") or 0)) for case in cases]


def verdict(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def said(case):
    failure = case.find("failure")
    parts = (failure.get("message"), failure.text) if failure is not None else ()
    return "\n".join(filter(None, (*parts, case.findtext("system-out"))))


def reason(test):
    """What it printed before it was skipped."""
    lines = [line.strip() for line in test.said.splitlines()]
    told = [line for line in lines if line and not re.match(r"\[|Note:|Running main|\S+:\d+: Skipped$", line)]
    return told[0] if told else "no reason given"
