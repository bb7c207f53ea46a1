"""The lanes of tests/run, and the tasks that they consist of."""
import dataclasses
import os
import re

from .ctest import CTest
from .inputs import CACHE, ROOT
from .ledger import Suite
from .task import Task

OUT = ROOT / "build/run"
FUZZ_SECONDS = os.environ.get("KURYR_FUZZ_SECONDS", "2")

LANES = {
    "format": "clang-format, flake8, include directions, Kubernetes manifests and chart, documentation and its site, alert rules",
    "lint": "clang-tidy of what is shipped",
    "release": "the shipped programs: static files that answer, and tell what they are; their man pages, Debian packages and folder",
    "demo": "the demo's scenario, on the release build; and what it says of a step that fails",
    "debian13": "README's commands in a root of Debian 13: the demo, the programs; pods on its OVN, in its containerd",
    "conformance": "the CNI specification, case by case, on the release build; and Debian's bridge, to check the cases",
    "kernel": "tests that need VLANs or Open vSwitch's datapath in the kernel, built by gcc, on a Linux 6.1 of their own",
    "limits": "kuryr-cni and kuryr-daemon of the release build: with too few descriptors, and what pages and memory a call takes",
    "attacks": "pods with hostile annotations, on nodes with devices, whose drivers are allowed or not; two pods lose nothing",
    "chaos": "kuryr-daemon, Open vSwitch and the API server killed at random while pods come and go; two nodes at one "
             "API server; what running pods have broken in every way, and repaired",
    "controller": "kuryr-controllers and the API server killed and paused while pods come and go; ADDs that begin before their plans; "
                  "namespaces that end; users who mean ill",
    "systemd": "the units of kuryr-daemon, kuryr-controller and kuryr-devices under a real systemd: sandbox, restarts, kills, watchdog",
    "runtimes": "libcni, containerd, podman and ctr drive the release build",
    "kubelet": "etc/kubernetes on a real node: its image, kuryr-controller, kuryr-daemon and kuryr-devices, pods by kubelet and containerd",
    "cluster": "Kubernetes' network on two nodes with kube-proxy, and a third of Kubernetes' own network conformance tests",
    "cluster-ovn": "lane cluster on OVN alone, with Geneve between the nodes and Services by OVN; and by OVN's manifests, with kube-proxy",
    "ovn": "pods on a real OVN: claims, traffic, ACLs, restarts; NetworkPolicies by chance, MultiNetworkPolicies, local Services; "
           "users who storm; upgrades",
    "neutron": "pods on ports of a real Neutron with Keystone, ML2/OVN and ML2/OVS: kuryr-controller's ports, pools, trunks; kills; "
               "NetworkPolicies by chance",
    "bandwidth": "the runtimes' limits once more, on the kernel lane's Linux, whose Open vSwitch has the kernel's datapath",
    "asan": "all tests with AddressSanitizer and UndefinedBehaviorSanitizer; clang's warnings and thread-safety analysis",
    "tsan": "tests of the parts with most threads, with ThreadSanitizer; tests/run long races has all",
    "fuzz": "every fuzz target for some seconds of a processor (KURYR_FUZZ_SECONDS, default 2)",
}


def build(name, lane, preset, targets=(), needs=(), seconds=200, options=(), then="true"):
    """Configured and built; `then`: a command for afterwards."""
    target = "".join(f" {each}" for each in ("--target", *targets)) if targets else ""
    settings = "".join(f" -D {option}" for option in options)
    return Task(name, lane, ("bash", "-c", f"cmake --preset {preset}{settings} && cmake --build --preset {preset}{target} && {then}"),
                tuple(needs), seconds=seconds, builds=True)


# Processors of a task that mostly waits: for timeouts, boots, other programs.
WAITS = 0.375
# Processors of a task that computes, beside two that wait.
COMPUTES = 1.25
# Processors of a task four of which fill two.
HALF = 0.5


# What tests/run --within leaves out first: lanes and tasks whose facts other ones show in part.
SPARE = {"tsan", "fuzz", "debian13", "bandwidth", "root of trixie", "kernel 2", "conformance debian-bridge", "storm of users",
         "storm on nodes", "cost for others", "policies neutron", "neutron openvswitch", "neutron networks",
         "controller namespaces neutron", "upgrade"}


# ---- what lanes stand on
PACKAGES = Task("packages", "packages", ("tests/packages",), seconds=60)
RELEASE_OPTIONS = ("BUILD_TESTING=ON", "'KURYR_TEST_LABELS=kernel|limits'")
PROGRAMS = build("programs", "release", "release", options=RELEASE_OPTIONS, seconds=220)
FAKE_API_SERVER = build("fake API server", "release", "release", ["fake-apiserver"], ["programs"], 20, RELEASE_OPTIONS)
# Listed here once, not by two boots at a time.
KERNEL_TESTS = build("kernel tests", "kernel", "release", ["kernel_tests"], ["fake API server"], 120, RELEASE_OPTIONS,
                     "ctest --test-dir build/release -N")
# Where it cannot be had, tests that want one are skipped.
KUBERNETES = Task("kube-apiserver", "kubelet", ("bash", "-c", f"tests/kubernetes/build-apiserver --cluster '{CACHE}' || exit 77"),
                  (PACKAGES.name,), seconds=220, builds=True)
ASAN = build("asan build", "asan", "asan", seconds=370)
TSAN = build("tsan build", "tsan", "tsan", seconds=200)
LIBCNI = Task("libcni client", "runtimes", ("tests/runtimes/run", "--build"), (PACKAGES.name,), seconds=20, builds=True)
BASES = {task.name: task for task in (PACKAGES, PROGRAMS, FAKE_API_SERVER, KERNEL_TESTS, KUBERNETES, ASAN, TSAN, LIBCNI)}


# ---- lanes
def exactly(names):
    return "^(" + "|".join(re.escape(name) for name in names) + ")$"


def ctest(lane, base, seconds, cores=COMPUTES, preset=None, label="."):
    """preset: by default the lane's name."""
    def command(report, *selection):
        jobs = 2 * (os.cpu_count() or 1)
        return ("ctest", "--preset", preset or lane, "-L", label, f"-j{jobs}", "--output-junit", str(report), *selection)

    report = OUT / f"{lane}.xml"
    return [Task(lane, lane, command(report), (base.name,), (KUBERNETES.name,), cores, seconds, report=report,
                 parts=ROOT / "build" / (preset or lane) / "gtest", again=lambda names, again: command(again, "-R", exactly(names)),
                 once=CTest(preset or lane, label, OUT / f"{lane}.tests"))]


def program(lane, needs, command, cores, seconds, name=None, environment=None):
    """A suite that writes its verdicts to --junit FILE. As it is one story, it is told from the beginning again, and its --logs
    of that time are beside the first's."""
    name = name or lane
    report = OUT / f"{name.replace(' ', '-')}.xml"
    once_more = tuple(f"{word}-again" if before == "--logs" else word for before, word in zip(("", *command), command))

    def told(words, to):
        return (*words, "--junit", str(to))

    return Task(name, lane, told(command, report), tuple(need.name for need in needs), (KUBERNETES.name,), cores, seconds, report=report,
                again=lambda names, again: told(once_more, again), is_story=True, environment=environment or {},
                once=Suite(name, command))


# Another compiler that takes the code is what these tasks show; long ones also let it optimise.
UNOPTIMISED = {"KURYR_COMPILER_FLAGS": "-O0 -U_FORTIFY_SOURCE"}


def elsewhere(lane, suite, suites, environment=None):
    """In a root of another Debian: README's first command there; all programs, with the list of what is linked in; then suites:
    {name: command}. Where its mirror does not answer, all of it is skipped."""
    enter = ("tests/roots/enter", suite)
    build = "cmake --preset release -D BUILD_TESTING=ON && cmake --build --preset release"
    root = Task(f"root of {suite}", f"root-{suite}", (*enter, "true"), cores=WAITS, seconds=60)
    demo = Task(f"{suite} demo", lane, (*enter, "tests/demo", "--quiet"), (root.name,), seconds=330, builds=True,
                environment=environment or {})
    programs = Task(f"{suite} programs", lane, (*enter, "bash", "-c", build), (demo.name,), seconds=100, builds=True,
                    environment=environment or {})
    told = [program(lane, (programs,), (*enter, *command), WAITS, 40, name=f"{suite} {name}") for name, command in suites.items()]
    # The cache folder may have a real API server; none is built for them. The clone's programs are not those of the root.
    return [root, demo, programs, *(dataclasses.replace(each, after=(), once=None) for each in told)]


def conformance():
    tasks = []
    for profile in ("api", "agent", "bridge", "ovs"):
        tasks.append(case_suite(f"conformance {profile}", ("--kuryr", profile)))
    data = "tests/data/conformance/bridge"
    tasks.append(case_suite("conformance debian-bridge", (
        "--plugin", "/usr/lib/cni/bridge", "--conf", f"{data}.json", "--known", f"{data}.known")))
    return tasks


def case_suite(name, words):
    report = OUT / f"{name.replace(' ', '-')}.xml"

    def command(to, *selection):
        return ("tests/conformance", *words, "--junit", str(to), *selection)

    return Task(name, "conformance", command(report), ("fake API server",), (), HALF, 50, report=report,
                again=lambda names, again: command(again, "--only", ",".join(each.split()[0] for each in names)),
                once=Suite(name, ("tests/conformance", *words)))


def kernel():
    """Each boot has one processor: every second test in each of two."""
    return [half_of_kernel(f"kernel {first}", f"{first},,2") for first in (1, 2)]


def half_of_kernel(name, numbers, short=("--short",)):
    report = OUT / f"{name.replace(' ', '-')}.xml"

    def command(to, *selection):
        return ("tests/kernel", *short, str(to), *selection)

    return Task(name, name.replace(" ", "-"), command(report, "-I", numbers), ("kernel tests",), (), 1, 200, report=report,
                environment=boots(name.replace(" ", "-")), again=lambda names, again: command(again, "-R", exactly(names)),
                once=Suite(name, ("tests/kernel", *short, "-I", numbers), programs=("build/release/bin/*_test",)))


def boots(name):
    """Where a booted Linux tells how it ended: one at a time in each folder."""
    return {"KURYR_KERNEL_STATE": str(OUT / f"boot-{name}")}


def fuzz():
    # An input that takes 10 s alone is too slow; here it may have to wait.
    return [fuzz_target(path, ("tests/fuzz", f"build/asan/bin/{path.stem}", FUZZ_SECONDS, "-timeout=60"))
            for path in sorted(ROOT.glob("tests/*/fuzz/*_fuzz.cc"), key=lambda path: path.stem)]


def fuzz_target(source, command):
    once = Suite(source.stem, command, programs=(command[1],), folders=(str(source.parent.relative_to(ROOT)),))
    return Task(source.stem, "fuzz", command, ("asan build",), (), 1, int(FUZZ_SECONDS) + 3, fills=True, once=once)


def tasks_of(lane):
    served = (PROGRAMS, FAKE_API_SERVER)
    return {
        "format": lambda: [Task("format", "format", ("tests/format",), seconds=15),
                           Task("chart", "format", ("tests/chart",), seconds=10),
                           Task("site", "format", ("tests/site", "--check-links"), seconds=15)],
        "lint": lambda: [Task("lint", "lint", ("tests/lint",), (), seconds=200, builds=True, anew=("--anew",))],
        "release": lambda: [Task("shipped programs", "release", ("tests/programs",), ("programs",), seconds=3),
                            Task("command lines", "release", ("tests/command_lines",), ("fake API server",), seconds=15),
                            Task("Debian packages", "release", ("tests/debs",), ("programs",), seconds=15),
                            Task("folder of a release", "release", ("tests/release", "--built"), ("programs",), seconds=15)],
        "demo": lambda: [Task("demo", "demo", ("tests/demo", "--quiet"), ("fake API server",), seconds=10),
                         Task("failing demo", "demo", ("tests/failing-demo",), seconds=3)],
        "debian13": lambda: elsewhere("debian13", "trixie", {
            "ovn": ("tests/ovn/run", "--logs", "build/run/trixie-ovn"), "containerd": ("tests/runtimes/run", "containerd", "ctr")},
            UNOPTIMISED),
        "conformance": conformance,
        "kernel": kernel,
        "limits": lambda: ctest("limits", KERNEL_TESTS, 50, WAITS, "release", "limits"),
        "chaos": lambda: [program("chaos", served, ("tests/agent/chaos", "--pairs", "100", "--logs", "build/run/chaos"), 1, 40),
                          program("chaos", served, ("tests/agent/repairs", "--pods", "12", "--seconds", "35", "--logs",
                                                    "build/run/repairs"), 1, 45, name="chaos repairs")],
        "controller": lambda: [controllers("controller", "run", 75), controllers("controller namespaces", "namespaces", 65),
                               controllers("controller namespaces neutron", "namespaces", 50, "--backend", "neutron"),
                               controllers("controller tenant", "tenant", 90),
                               program("controller", (PROGRAMS,), ("tests/policies/run", "--fresh", "8",
                                                                   "--logs", "build/run/policies"), 1, 60,
                                       name="policies"),
                               program("controller", (PROGRAMS,), ("tests/policies/storm", "--seconds", "15",
                                                                   "--logs", "build/run/policies-storm"), WAITS, 40,
                                       name="storm on nodes"),
                               program("controller", (PROGRAMS,), ("tests/agent/arrivals", "--pods", "60",
                                                                   "--logs", "build/run/arrivals"), WAITS, 15, name="arrivals"),
                               program("controller", (PROGRAMS,), ("tests/bench/others", "--backend", "ovn", "--pods", "3",
                                                                   "--logs", "build/run/others"),
                                       WAITS, 60, name="cost for others")],
        "attacks": lambda: [program("attacks", served, ("tests/attacks/run", "--logs", "build/run/attacks"), 1, 40),
                            program("attacks on devices", served, (
                                "tests/attacks/run", "--devices", "--attacks", "100", "--logs", "build/run/attacks-devices"), 1, 30)],
        "systemd": lambda: [program("systemd", served, ("tests/agent/systemd",), WAITS, 150)],
        "runtimes": lambda: [program("runtimes", (*served, LIBCNI), ("tests/runtimes/run",), WAITS, 60)],
        "kubelet": lambda: [program("kubelet", (PROGRAMS,), ("tests/kubernetes/kubelet", "--logs", "build/run/kubelet"), WAITS, 330)],
        "cluster": lambda: [program("cluster", (PROGRAMS,), ("tests/kubernetes/cluster", "--logs", "build/run/cluster"), 1, 100)],
        "cluster-ovn": cluster_on_ovn,
        "ovn": lambda: [program("ovn", served, ("tests/ovn/run", "--logs", "build/run/ovn"), WAITS, 30),
                        program("ovn", served, ("tests/policies/run", "--backend", "ovn", "--logs", "build/run/policies-ovn"), WAITS, 60,
                                name="policies ovn"),
                        program("ovn", served, ("tests/ovn/services", "--logs", "build/run/services"), WAITS, 60, name="services"),
                        program("ovn", served, ("tests/ovn/neighbours", "--logs", "build/run/neighbours"), WAITS, 180,
                                name="neighbours"),
                        program("ovn", served, ("tests/ovn/networks", "--logs", "build/run/networks"), WAITS, 30, name="networks"),
                        program("ovn", served, ("tests/ovn/storm", "--users", "1", "--rate", "40", "--seconds", "30",
                                                "--logs", "build/run/users"), 1, 50, name="storm of users"),
                        program("ovn", (), ("tests/ovn/upgrade", "--suites", "trixie", "--logs", "build/run/upgrade"), WAITS, 80,
                                name="upgrade")],
        "neutron": lambda: [program("neutron", served, ("tests/neutron/run", "--logs", "build/run/neutron"), WAITS, 200),
                            program("neutron", served, ("tests/policies/run", "--backend", "neutron",
                                                        "--logs", "build/run/policies-neutron"), 1, 80,
                                    name="policies neutron"),
                            program("neutron", served, ("tests/neutron/networks", "--logs", "build/run/neutron-networks"), WAITS, 60,
                                    name="neutron networks"),
                            program("neutron", (PROGRAMS,), ("tests/neutron/openvswitch", "--logs", "build/run/neutron-openvswitch"),
                                    WAITS, 60, name="neutron openvswitch")],
        "bandwidth": lambda: [bandwidth(served)],
        "asan": lambda: ctest("asan", ASAN, 500),
        "tsan": lambda: ctest("tsan", TSAN, 330),
        "fuzz": fuzz,
    }[lane]()


def cluster_on_ovn():
    by_ovn = ("tests/kubernetes/cluster", "--backend", "ovn", "--services", "ovn", "--logs", "build/run/cluster-ovn")
    return [program("cluster-ovn", (PROGRAMS,), by_ovn, 1, 150),
            program("cluster-ovn", (PROGRAMS,), ("tests/kubernetes/ovn", "--logs", "build/run/ovn-deployed"), 1, 200,
                    name="ovn deployed")]


def controllers(name, suite, seconds, *words):
    command = (f"tests/controller/{suite}", *words, "--logs", f"build/run/{name.replace(' ', '-')}")
    return program("controller", (PROGRAMS,), command, WAITS, seconds, name=name)


def bandwidth(served):
    report = OUT / "bandwidth.xml"

    def command(to):
        return ("tests/kernel", "--run", "tests/runtimes/run", "--junit", str(to), "bandwidth")

    return Task("bandwidth", "bandwidth", command(report), (*(need.name for need in served), LIBCNI.name), (), 1, 90, report=report,
                again=lambda names, again: command(again), is_story=True, environment=boots("bandwidth"),
                once=Suite("bandwidth", command(report)))


def with_bases(tasks):
    """The tasks, with all that they stand on; what is no build may need any package."""
    wanted = {task.name: task if task.builds else dataclasses.replace(task, needs=(PACKAGES.name, *task.needs)) for task in tasks}
    missing = list(wanted.values())
    while missing:
        task = missing.pop()
        for need in task.needs + task.after:
            if need not in wanted:
                wanted[need] = BASES[need]
                missing.append(BASES[need])
    return [dataclasses.replace(task, spare=bool(SPARE & {task.name, task.lane})) for task in wanted.values()]
