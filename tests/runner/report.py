"""Results from the tasks' JUnit files."""
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass


@dataclass(frozen=True)
class Test:
    name: str
    verdict: str  # passed, failed, skipped
    said: str
    seconds: float
    process: str  # what is run again for it: itself, or ctest's name of the process that it is one test of


def read(report, parts=None):
    """The tests of a JUnit file; none where the task wrote none. parts: a folder of files NAME.xml, each with the tests that
    the JUnit file's test NAME consists of."""
    tests = []
    for case in cases(report):
        name = case.get("name")
        inner = list(cases(parts / f"{name}.xml")) if parts else []
        if inner:
            tests += [test(f"{each.get('classname')}.{each.get('name')}", each, name) for each in inner]
        # One that died after its tests passed.
        if not inner or (verdict(case) == "failed" and not any(verdict(each) == "failed" for each in inner)):
            tests.append(test(name, case, name))
    return tests


def cases(report):
    try:
        return ElementTree.parse(report).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError):
        return ()


def test(name, case, process):
    return Test(name, verdict(case), said(case), float(case.get("time") or 0), process)


def verdict(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def said(case):
    failure = case.find("failure")
    parts = (failure.get("message"), failure.text) if failure is not None else (case.findtext("skipped"),)
    return "\n".join(filter(None, (*parts, case.findtext("system-out"))))


def reason(test):
    """The reason that a test printed before it was skipped."""
    lines = [line.strip() for line in test.said.splitlines()]
    told = [line for line in lines if line and not re.match(r"\[|Note:|Running main|\S+:\d+(: Skipped)?$", line)]
    return told[0] if told else "no reason given"
