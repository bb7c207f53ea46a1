"""After every change: the build, the format of what changed, and the tests whose programs are not those that passed last."""
import hashlib
import json
import os
import subprocess
from pathlib import Path

from . import lanes
from .report import read

BUILD = lanes.ROOT / "build/dev"
PASSED = BUILD / "passed.json"
# What takes longer is tests/run's.
LONGEST_SECONDS = 10
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
    tests = known_tests()
    passed = json.loads(PASSED.read_text()) if PASSED.exists() else {}
    states = {program: state(program) for program in {test["program"] for test in tests}}
    reached = [test for test in tests if passed.get(test["program"]) != states[test["program"]]]
    chosen = [test for test in reached if test["seconds"] <= LONGEST_SECONDS]
    tell(f"{len(chosen)} of {len(tests)} tests: {len(tests) - len(reached)} are of programs that passed as they are, "
         f"{len(reached) - len(chosen)} take longer than {LONGEST_SECONDS} s")
    verdicts = run_tests(chosen) if chosen else {}
    bad = {test["program"] for test in chosen if verdicts.get(test["name"], "failed") == "failed"}
    PASSED.write_text(json.dumps(passed | {program: states[program] for program in states if program not in bad}))
    failed = [name for name, verdict in verdicts.items() if verdict == "failed"]
    for name in failed:
        print(f"failed: {name}")
    counts = [sum(verdict == each for verdict in verdicts.values()) for each in ("passed", "failed", "skipped")]
    tell("done")
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if bad else 0


def known_tests():
    """[{name, number, program, seconds}] as ctest has them."""
    told = subprocess.run(["ctest", "--preset", "dev", "--show-only=json-v1"], cwd=lanes.ROOT, stdout=subprocess.PIPE, check=True)
    costs = {}
    log = BUILD / "Testing/Temporary/CTestCostData.txt"
    for line in log.read_text().splitlines() if log.exists() else ():
        words = line.split()
        if len(words) == 3:
            costs[words[0]] = float(words[2])
    return [{"name": test["name"], "number": number, "program": test["command"][0], "seconds": costs.get(test["name"], 0)}
            for number, test in enumerate(json.loads(told.stdout)["tests"], 1) if test.get("command")]


def state(program):
    """Of a test's program, and of the programs and data that it works with."""
    together = hashlib.sha256()
    files = [Path(program)]
    if Path(program).name in ("agent_test", "plugin_test", "plugin_drivers_test", "fake_apiserver_test"):
        files += [BUILD / "bin" / name for name in PROGRAMS]
    for file in files:
        together.update(file.read_bytes())
    return together.hexdigest()


def run_tests(chosen):
    """{name: verdict}"""
    result = lanes.OUT / "quick.xml"
    result.unlink(missing_ok=True)
    numbers = lanes.OUT / "quick.tests"
    # Without the end of the line ctest passes over the last number.
    numbers.write_text("0,0,0," + ",".join(str(test["number"]) for test in chosen) + "\n")
    subprocess.run(["ctest", "--preset", "dev", f"-j{2 * (os.cpu_count() or 1)}", "-I", str(numbers), "--progress",
                    "--output-junit", str(result)], cwd=lanes.ROOT, check=False)
    return {test.name: test.verdict for test in read(result)}
