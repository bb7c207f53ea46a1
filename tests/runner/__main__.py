"""tests/run [LANE...]: what has to hold before a change lands, or some of its lanes.
tests/run quick: after every change: builds dev, and runs the tests that the change can reach, for two minutes; again: the rest.
tests/run long [LANE...]: what takes hours: soak, fuzzing, chaos, benchmarks.

On a fresh Debian 12 or 13, as root. Installs what is missing, uses private namespaces and run directories only, and leaves the
host's networks, Open vSwitch and files alone. Logs are in build/run. What waits runs beside what computes.

What passed with the same programs, scripts, data, packages and kernel is not run again: the folder passed of KURYR_CACHE_DIR
remembers it for 30 days. --anew runs all of it. So does long.

On a slow machine, --within keeps a run short: what it leaves out is listed as skipped.

A test that fails is run once more, alone. One that passes then is FLAKY: it is listed, with both its logs, and fails the
run only where more than five are. Exit status: 0 when everything holds."""
import argparse
import dataclasses
import shutil
import sys
import time

from . import lanes, long, quick
from .ledger import Ledger
from .schedule import Schedule, die_with_children
from .summary import Summary

BEGAN = time.monotonic()


def tell(text):
    print(f"{time.monotonic() - BEGAN:5.0f}s {text}", flush=True)


def arguments():
    described = [f"  {name:14}{text}" for name, text in lanes.LANES.items()]
    described += ["lanes of long:"] + [f"  {name:14}{text}" for name, text in long.LANES.items()]
    parser = argparse.ArgumentParser(prog="tests/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="lanes:\n" + "\n".join(described))
    parser.add_argument("--anew", action="store_true", help="run also what passed before with the same programs and inputs")
    parser.add_argument("--within", metavar="MINUTES", type=float,
                        help="leave out spare tasks that would not end by then: ThreadSanitizer, fuzz targets, Debian 13 and others")
    parser.add_argument("lanes", nargs="*", metavar="quick | [long] LANE")
    return parser.parse_args()


def chosen(words):
    """(tasks of the lanes that are meant)"""
    kind, names = (long, words[1:]) if words[:1] == ["long"] else (lanes, words)
    for name in names:
        if name not in kind.LANES:
            sys.exit(f"tests/run: no lane {name}; tests/run --help names them")
    return [task for name in names or kind.LANES for task in kind.tasks_of(name)]


def main():
    options = arguments()
    ledger = Ledger(anew=options.anew or options.lanes[:1] == ["long"])
    if options.lanes == ["quick"]:
        return quick.run(ledger, tell)
    tasks = lanes.with_bases(chosen(options.lanes))
    if ledger.anew:
        tasks = [dataclasses.replace(task, command=(*task.command, *task.anew)) for task in tasks]
    shutil.rmtree(lanes.OUT / "flaky", ignore_errors=True)
    lanes.OUT.mkdir(parents=True, exist_ok=True)
    for log in lanes.OUT.glob("*.log"):
        log.unlink()
    die_with_children()
    ended = Schedule(tasks, lanes.OUT, ledger, tell, options.within).run()
    summary = Summary(tasks, ended, ledger.before, lanes.OUT, tell)
    summary.print(time.monotonic() - BEGAN)
    return 0 if summary.ok() else 1


try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit("tests/run: stopped")
