"""After every change: the build, the format of what changed, and the tests whose programs are not those that they passed with,
for two minutes: the next one goes on with the rest."""
import hashlib
import json
import os
import subprocess
import time
from pathlib import Path

from . import lanes
from .report import Test, read

BUILD = lanes.ROOT / "build/dev"
KNOWN = BUILD / "quick.json"  # {name: {state: of its program when it passed last, seconds}}
TEST_SECONDS = 100
SLICE_SECONDS = 15  # between two looks at the clock
UNKNOWN_SECONDS = 0.3  # of a test that never ran here
JOBS = 2 * (os.cpu_count() or 1)
PROGRAMS = ("kuryr-cni", "kuryr-daemon", "fake-apiserver")


def shown(tell, text, *command):
    """Whether it succeeded; its output is the reader's."""
    tell(text)
    return subprocess.run(command, cwd=lanes.ROOT, check=False).returncode == 0


def run(tell):
    lanes.OUT.mkdir(parents=True, exist_ok=True)
    if not (shown(tell, "format", "tests/format", "--changed") and
            shown(tell, "configure", "cmake", "--preset", "dev", "--log-level=ERROR") and
            shown(tell, "build", "cmake", "--build", "--preset", "dev")):
        return 1
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    tests = tests_with(known)
    states = {program: state(program) for program in {test["program"] for test in tests}}
    reached = [test for test in tests if known.get(test["name"], {}).get("state") != states[test["program"]]]
    tell(f"{len(reached)} of {len(tests)} tests: the others passed with programs as they are")
    results = run_for_a_while(reached, changed_folders())
    for test in reached:
        if result := results.get(test["name"]):
            passed = result.verdict != "failed"
            known[test["name"]] = {"state": states[test["program"]] if passed else None, "seconds": result.seconds}
    KNOWN.write_text(json.dumps(known, indent=0))
    verdicts = {name: result.verdict for name, result in results.items()}
    failed = [name for name, verdict in verdicts.items() if verdict == "failed"]
    for name in failed:
        print(f"failed: {name}")
    counts = [sum(verdict == each for verdict in verdicts.values()) for each in ("passed", "failed", "skipped")]
    tell("done")
    print("{} passed, {} failed, {} skipped, {} left for the next time".format(*counts, len(reached) - len(verdicts)))
    return 1 if failed else 0


def changed_folders():
    """Folders with files that differ from the last commit: {"binding"}, also for tests/binding."""
    told = subprocess.run(["git", "status", "--porcelain"], cwd=lanes.ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return {line[3:].removeprefix("tests/").split("/")[0] for line in told.stdout.splitlines()}


def run_for_a_while(reached, folders):
    """{name: result} of those for which there is time: the shortest first; one of another folder counts as five times as long."""
    def order(test):
        return test["seconds"] * (1 if Path(test["program"]).name.split("_")[0] in folders else 5)

    results, left, end = {}, sorted(reached, key=order), time.monotonic() + TEST_SECONDS
    while left and time.monotonic() < end:
        count, seconds = 0, 0.0
        while count < len(left) and (count == 0 or seconds + left[count]["seconds"] <= SLICE_SECONDS * JOBS):
            seconds += left[count]["seconds"]
            count += 1
        results |= run_tests(left[:count])
        left = left[count:]
    return results


def tests_with(known):
    """[{name, number, program, seconds}] as ctest has them."""
    told = subprocess.run(["ctest", "--preset", "dev", "--show-only=json-v1"], cwd=lanes.ROOT, stdout=subprocess.PIPE, check=True)
    return [{"name": test["name"], "number": number, "program": test["command"][0],
             "seconds": known.get(test["name"], {}).get("seconds", cost_of(test) or UNKNOWN_SECONDS)}
            for number, test in enumerate(json.loads(told.stdout)["tests"], 1) if test.get("command")]


def cost_of(test):
    """The estimate of cmake/Targets.cmake for a process that is many tests."""
    return next((each["value"] for each in test["properties"] if each["name"] == "COST"), 0)


def state(program):
    """The state of a test's program, and of the programs and data that it works with."""
    together = hashlib.sha256()
    files = [Path(program)]
    if Path(program).name in ("agent_test", "plugin_test", "plugin_drivers_test", "fake_apiserver_test"):
        files += [BUILD / "bin" / name for name in PROGRAMS]
    for file in files:
        together.update(file.read_bytes())
    return together.hexdigest()


def run_tests(chosen):
    """{name: result}"""
    result = lanes.OUT / "quick.xml"
    result.unlink(missing_ok=True)
    numbers = lanes.OUT / "quick.tests"
    # Without the end of the line ctest passes over the last number.
    numbers.write_text("0,0,0," + ",".join(str(test["number"]) for test in chosen) + "\n")
    subprocess.run(["ctest", "--preset", "dev", f"-j{JOBS}", "-I", str(numbers), "--progress", "--output-junit", str(result)],
                   cwd=lanes.ROOT, check=False)
    told = {test.name: test for test in read(result)}
    return {test["name"]: told.get(test["name"], Test(test["name"], "failed", "", 0, test["name"])) for test in chosen}
