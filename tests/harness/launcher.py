"""The launchers of suites: common options, namespaces, report, logs."""
import argparse
import os
import random
import shutil
from pathlib import Path

from harness import namespaces, report
from harness.kube_api import use_programs
from harness.kuryr_node import RELEASE

# {option: program that a suite runs}: a module that runs another one adds it.
PROGRAMS = {"plugin": "kuryr-cni", "daemon": "kuryr-daemon"}


def main(program, text, states, add_options=lambda parser: None, missing=()):
    """The exit status. states: {suite: state(facts, options)}, which states its facts in namespaces of its own;
    add_options(an ArgumentParser): adds options to the common ones; missing: programs that the machine lacks."""
    chosen = arguments(program, text, add_options)
    namespaces.need_root(program)
    if getattr(chosen, "seed", None) is not None:
        print(f"seed {chosen.seed}", flush=True)
    if missing:
        print(f"{program}: not installed: {', '.join(missing)}; tests/packages test ovn neutron brings them")
        return report.CANNOT
    outcomes = {suite: report.unpack(namespaces.result_of(lambda: _collect(suite, state, chosen)))
                for suite, state in states.items()}
    return report.conclude(outcomes, chosen.junit)


def add_seed(parser):
    parser.add_argument("--seed", metavar="N", type=int, default=random.SystemRandom().randrange(1 << 31),
                        help="of all that is random but the time that things take")


def add_binaries(parser):
    parser.add_argument("--binaries", metavar="FOLDER", type=use_programs,
                        help="Kubernetes' programs, as a release has them, for suites with a real API server (1.20.2)")


def arguments(program, text, add_options=lambda parser: None):
    """The options of a launcher, with the common ones."""
    parser = argparse.ArgumentParser(prog=program, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, name in PROGRAMS.items():
        parser.add_argument(f"--{option}", metavar="FILE", type=os.path.abspath, default=RELEASE / name)
    add_binaries(parser)
    parser.add_argument("--junit", metavar="FILE", type=os.path.abspath, help="write the verdicts there, too")
    parser.add_argument("--logs", metavar="FOLDER", type=os.path.abspath, help="keep the programs' logs there")
    add_options(parser)
    return parser.parse_args()


def _collect(suite, state, chosen):
    try:
        return report.Facts(suite).collect(lambda facts: state(facts, chosen)).packed()
    finally:
        if chosen.logs:
            os.makedirs(chosen.logs, exist_ok=True)
            for log in Path("/run").glob("**/*.log"):
                shutil.copy(log, chosen.logs)
