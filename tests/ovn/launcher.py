"""What the launchers of tests/ovn and tests/neutron have in common: options, namespaces, report, logs."""
import argparse
import os
import shutil

from harness import namespaces, report
from harness.kuryr_node import RELEASE
from harness.namespaces import WORK
from harness.open_vswitch import FOLDER as OVS_FOLDER
from ovn.central import FOLDER as OVN_FOLDER


def main(program, text, missing, state, add_options=lambda parser: None):
    """The exit status. missing: programs that the machine lacks; state(facts, options) states the facts, on a node;
    add_options(an ArgumentParser): what this launcher has beside the common ones."""
    suite = program.removeprefix("tests/").removesuffix("/run").replace("/", " ")
    chosen = _arguments(program, text, add_options)
    namespaces.need_root(program)
    if missing:
        print(f"{program}: not installed: {', '.join(missing)}; tests/packages test ovn neutron brings them")
        return report.CANNOT

    def collect():
        try:
            return report.Facts(suite).collect(lambda facts: state(facts, chosen)).packed()
        finally:
            if chosen.logs:
                _keep_logs(chosen.logs)

    return report.conclude({suite: report.unpack(namespaces.result_of(collect))}, chosen.junit)


def _arguments(program, text, add_options):
    parser = argparse.ArgumentParser(prog=program, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", metavar="FILE", type=os.path.abspath, default=RELEASE / "kuryr-cni")
    parser.add_argument("--daemon", metavar="FILE", type=os.path.abspath, default=RELEASE / "kuryr-daemon")
    parser.add_argument("--controller", metavar="FILE", type=os.path.abspath, default=RELEASE / "kuryr-controller")
    parser.add_argument("--junit", metavar="FILE", type=os.path.abspath, help="write the verdicts there, too")
    parser.add_argument("--logs", metavar="FOLDER", type=os.path.abspath, help="keep the services' logs there")
    add_options(parser)
    return parser.parse_args()


def _keep_logs(folder):
    os.makedirs(folder, exist_ok=True)
    for log in [log for owner in (WORK, OVS_FOLDER, OVN_FOLDER) for log in owner.glob("*.log")]:
        shutil.copy(log, folder)
