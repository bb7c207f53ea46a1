"""After every change: the build, the format of what changed, and the tests that did not pass with programs and data as they are,
for two minutes: the next one goes on with the rest."""
import collections
import json
import os
import subprocess
import time
from pathlib import Path

from . import lanes
from .ctest import CTest
from .report import read
from .task import Task

BUILD = lanes.ROOT / "build/dev"
TIMES = BUILD / "quick.json"  # {name: seconds that it took here}
TEST_SECONDS = 100
SLICE_SECONDS = 15  # between two looks at the clock
UNKNOWN_SECONDS = 0.3  # of a test that never ran here
JOBS = 2 * (os.cpu_count() or 1)


def shown(tell, text, *command):
    """Whether it succeeded; its output is the reader's."""
    tell(text)
    return subprocess.run(command, cwd=lanes.ROOT, check=False).returncode == 0


def run(ledger, tell):
    lanes.OUT.mkdir(parents=True, exist_ok=True)
    if not (shown(tell, "format", "tests/format", "--changed") and
            shown(tell, "configure", "cmake", "--preset", "dev", "--log-level=ERROR") and
            shown(tell, "build", "cmake", "--build", "--preset", "dev")):
        return 1
    once = CTest("dev", ".", lanes.OUT / "quick.tests")
    task = Task("quick", "quick", ("ctest", "--preset", "dev", f"-j{JOBS}", "--progress", "--output-junit", str(lanes.OUT / "quick.xml")),
                report=lanes.OUT / "quick.xml", parts=BUILD / "gtest", once=once)
    ledger.left_of(task)
    times = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    tests = [test for _, test in once.tests if test["name"] in ledger.left[task.name]]
    tell(f"{len(tests)} of {len(once.tests)} tests: the others passed before, with programs and data as they are")
    verdicts = run_for_a_while(task, ledger, tests, times)
    TIMES.write_text(json.dumps(times, indent=0))
    for name, verdict in verdicts.items():
        if verdict == "failed":
            print(f"failed: {name}")
    counts = collections.Counter(verdicts.values())
    tell("done")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, "
          f"{len(tests) - len(verdicts)} left for the next time")
    return 1 if counts["failed"] else 0


def changed_folders():
    """Folders with files that differ from the last commit: {"binding"}, also for tests/binding."""
    told = subprocess.run(["git", "status", "--porcelain"], cwd=lanes.ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return {line[3:].removeprefix("tests/").split("/")[0] for line in told.stdout.splitlines()}


def run_for_a_while(task, ledger, tests, times):
    """{name: verdict} of those for which there is time: the shortest first; one of another folder counts as five times as long."""
    folders = changed_folders()

    def seconds(test):
        return times.get(test["name"], cost_of(test) or UNKNOWN_SECONDS)

    def order(test):
        return seconds(test) * (1 if Path(test["command"][0]).name.split("_")[0] in folders else 5)

    verdicts, left, end = {}, sorted(tests, key=order), time.monotonic() + TEST_SECONDS
    while left and time.monotonic() < end:
        count, together = 0, 0.0
        while count < len(left) and (count == 0 or together + seconds(left[count]) <= SLICE_SECONDS * JOBS):
            together += seconds(left[count])
            count += 1
        verdicts |= run_tests(task, ledger, {test["name"] for test in left[:count]}, times)
        left = left[count:]
    return verdicts


def cost_of(test):
    """The estimate of cmake/Targets.cmake for a process that is many tests."""
    return next((each["value"] for each in test["properties"] if each["name"] == "COST"), 0)


def run_tests(task, ledger, names, times):
    """{name: verdict}"""
    task.forget()
    subprocess.run((*task.command, *task.once.selection(names)), cwd=lanes.ROOT, check=False)
    told = {test.name: test for test in read(task.report)}
    times |= {name: test.seconds for name, test in told.items()}
    ledger.note(task, "ok")
    return {name: told[name].verdict if name in told else "failed" for name in names}
