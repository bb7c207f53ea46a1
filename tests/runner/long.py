"""Lanes that take hours: tests with more rounds, and the benchmarks."""
import os

from . import lanes
from .task import Task

LANES = {
    "soak": "pods of all drivers 2,000 times, Open vSwitch killed 20 times, 1,000 pods watched, 550,000 listed, 10,000 changes of pods "
            "on OVN, 1,000 pods with policies whose labels change, each call failed once, all with AddressSanitizer",
    "storm": "chaos with 1,000 pods that come and go; 100 pods whose network is broken for 10 minutes; 2,000 pods, 60 kills of "
             "controllers and 10 of the API server; 200 namespaces that end, also with Neutron; 10,000 requests of users who mean "
             "ill; 1,000 attacks; 200 pods with ports of Neutron, all parts killed; 2,000 NetworkPolicies by chance, and 200 "
             "with Neutron; three users who storm for ten minutes",
    "cluster": "all of Kubernetes' network conformance tests, twice, and in a flat pool; all tests of NetworkPolicies; ten kills of each "
               "part; clusters of IPv4 alone and of IPv6 alone",
    "cluster-ovn": "as cluster, on OVN: Services by kube-proxy, and by OVN; all tests of NetworkPolicies; clusters of IPv4 alone and of "
                   "IPv6 alone, also by OVN's manifests; the rows of 300 nodes; OVN 23.03 to 25.03 to 26.03 under pods",
    "debians": "Debian 13: unit tests, all of OVN and of the runtimes, the quick starts with Kubernetes, Debian packages, Neutron 26; "
               "sid: demo, programs, OVN, runtimes",
    "recreation": "30 pods recreated 10 times, agent, controller, containerd and Open vSwitch restarted; beside Debian's bridge",
    "kernel": "all tests of nodes on the kernel of lane kernel",
    "upgrade": "kuryr-cni from the last release to this tree and back, under pods of two nodes: pools, and OVN",
    "fuzzing": "every fuzz target for KURYR_FUZZ_SECONDS, default 600",
    "races": "all tests with ThreadSanitizer",
    "dev": "the developer's build, of everything by g++, file by file, and its tests: some races show without sanitizers only",
    "site": "the documentation's site, looked at in Chromium: widths, contrast, search, keys",
    "release": "the folder of a release, made and tried: amd64, and arm64 by qemu",
    "reproducible": "two releases, made in different folders, are the same bytes",
    "bench": "tests/bench/run and tests/bench/report: read their ratios",
}
SOAK = {"KURYR_ROUNDS": "2000", "KURYR_CONNECTS": "500", "KURYR_KILLS": "20", "KURYR_KUBE_PODS": "1000",
        "KURYR_KUBE_RESTARTS": "20", "KURYR_EXCHANGE_COUNT": "10000", "KURYR_FAULT_STEP": "1",
        "KURYR_KILLED_ADDS": "100", "KURYR_OVN_CHANGES": "10000", "KURYR_OVN_LEADERS": "20", "KURYR_LISTED_PODS": "550000",
        "KURYR_POLICED_NAMESPACES": "10", "KURYR_POLICED_PODS": "100", "KURYR_POLICY_CHANGES": "500"}
SOAK_TESTS = ("Soak|OvnStorm|LeadersTest|PolicyStorm|AdminRows|policy_test|controller_hostile_api|FaultInjection|RepairFault|"
              "OvsRestart|AtAnyMoment|kubernetes_test|PythonExchange")


def tasks_of(lane):
    return {"soak": soak, "storm": storm, "cluster": cluster, "cluster-ovn": cluster_on_ovn, "debians": debians,
            "recreation": recreation, "kernel": kernel, "upgrade": upgrade, "fuzzing": fuzzing, "races": races, "dev": dev,
            "site": site, "release": release, "reproducible": reproducible, "bench": bench}[lane]()


def soak():
    report = lanes.OUT / "soak.xml"
    return [Task("soak", "soak", ("ctest", "--preset", "asan", "--timeout", "3600", "-R", SOAK_TESTS, "--output-junit", str(report)),
                 ("asan build",), ("kube-apiserver",), 2, 1800, report=report, environment=SOAK)]


def storm():
    served = (lanes.PROGRAMS, lanes.FAKE_API_SERVER)
    controllers = ("tests/controller/run", "--pods", "2000", "--kills", "60", "--restarts", "10")
    return [lanes.program("storm", served, ("tests/agent/chaos", "--pairs", "1000"), 2, 300),
            lanes.program("storm", served, ("tests/agent/repairs", "--logs", "build/run/repairs-storm"), 2, 660,
                          name="storm of repairs"),
            lanes.program("storm", (lanes.PROGRAMS,), ("tests/agent/arrivals",), 1, 60, name="storm of arrivals"),
            lanes.program("storm", (lanes.PROGRAMS,), controllers, 1, 420, name="storm of controllers"),
            lanes.program("storm", (lanes.PROGRAMS,), ("tests/controller/namespaces", "--pods", "2000", "--namespaces", "200"), 1, 600,
                          name="storm of namespaces"),
            lanes.program("storm", (lanes.PROGRAMS,), ("tests/controller/namespaces", "--backend", "neutron", "--pods", "2000",
                                                       "--namespaces", "200"), 1, 600, name="storm of namespaces with Neutron"),
            lanes.program("storm", (lanes.PROGRAMS,), ("tests/controller/tenant", "--requests", "10000", "--refused", "1500"), 1, 300,
                          name="storm of tenants"),
            lanes.program("storm", served, ("tests/attacks/run", "--attacks", "1000"), 2, 90, name="storm of attacks"),
            lanes.program("storm", served, ("tests/neutron/storm", "--logs", "build/run/neutron-storm"), 1, 600, name="storm of ports"),
            lanes.program("storm", served, ("tests/policies/run", "--policies", "2000", "--fresh", "200"), 1, 1500,
                          name="storm of policies"),
            lanes.program("storm", served, ("tests/policies/run", "--backend", "ovn", "--policies", "2000", "--fresh", "200"), 1, 1500,
                          name="storm of policies with OVN"),
            lanes.program("storm", served, ("tests/ovn/storm", "--seconds", "600"), 2, 700, name="long storm of users"),
            lanes.program("storm", served, ("tests/policies/run", "--backend", "neutron", "--policies", "200",
                                            "--logs", "build/run/policies-neutron-storm"), 1, 600, name="storm of policies with Neutron")]


def cluster():
    ways = {"conformance": ("--tests", "all"), "conformance again": ("--tests", "all"),
            "kills": ("--tests", "none", "--kills", "10"), "flat": ("--tests", "all", "--backend", "flat"),
            "policies": ("--tests", "policy"), "policies nftables": ("--tests", "policy", "--proxy", "nftables"),
            "IPv4": ("--tests", "none", "--families", "4"), "IPv6": ("--tests", "none", "--families", "6")}
    return [lanes.program("cluster", (lanes.PROGRAMS,), ("tests/kubernetes/cluster", *words), 2, 150, name=f"cluster {way}")
            for way, words in ways.items()]


def cluster_on_ovn():
    ways = {"conformance": ("--tests", "all"), "conformance by OVN": ("--tests", "all", "--services", "ovn"),
            "policies": ("--tests", "policy", "--services", "ovn"),
            "IPv4": ("--tests", "none", "--families", "4"), "IPv6": ("--tests", "none", "--services", "ovn", "--families", "6")}
    return [*(lanes.program("cluster-ovn", (lanes.PROGRAMS,), ("tests/kubernetes/cluster", "--backend", "ovn", *words), 2, 150,
                            name=f"cluster-ovn {way}") for way, words in ways.items()),
            lanes.program("cluster-ovn", (lanes.PROGRAMS,), ("tests/kubernetes/ovn", "--families", "6"), 1, 200, name="ovn deployed IPv6"),
            lanes.program("cluster-ovn", (), ("tests/ovn/upgrade", "--logs", "build/run/upgrade-long"), 2, 150, name="upgrades of OVN"),
            lanes.program("cluster-ovn", (), ("tests/ovn/scale",), 2, 300, name="scale of OVN")]


def debians():
    return [*on_trixie(), *on_sid()]


def on_trixie():
    suites = {f"ovn {name}": (f"tests/ovn/{name}", "--logs", f"build/run/trixie-{name}")
              for name in ("run", "services", "networks", "neighbours")}
    suites["ovn policies"] = ("tests/policies/run", "--backend", "ovn", "--logs", "build/run/trixie-policies")
    suites["runtimes"] = ("tests/runtimes/run",)
    # The root has not got the packages of these.
    for name in ("kubelet", "ovn"):
        suites[f"quick start {name}"] = ("bash", "-c", 'tests/packages kubernetes test ovn && "$@"', "bash", f"tests/kubernetes/{name}",
                                         "--logs", f"build/run/trixie-quick-start-{name}")
    suites["neutron"] = ("bash", "-c", 'tests/packages neutron && "$@"', "bash", "tests/neutron/run", "--logs", "build/run/trixie-neutron")
    # Its objects are those of the programs.
    unit = ("tests/packages test && cmake --preset release -D BUILD_TESTING=ON -D KURYR_TEST_LABELS=unit && "
            "cmake --build --preset release --target kernel_tests && "
            "ctest --preset release -L unit -j4 --output-junit build/run/trixie-unit.xml")
    enter, programs = ("tests/roots/enter", "trixie"), ("trixie programs",)
    return [*lanes.elsewhere("debians", "trixie", suites),
            Task("trixie unit", "debians", (*enter, "bash", "-c", unit), programs, seconds=900, builds=True,
                 report=lanes.OUT / "trixie-unit.xml", parts=lanes.ROOT / "build/trixie/release/gtest"),
            Task("trixie Debian packages", "debians", (*enter, "bash", "-c", "tests/packages test && tests/debs"), programs)]


def on_sid():
    """Its compiler warns of what no other does."""
    suites = {"ovn": ("tests/ovn/run", "--logs", "build/run/sid-ovn"), "runtimes": ("tests/runtimes/run", "containerd", "ctr")}
    return lanes.elsewhere("debians", "sid", suites, {"KURYR_WERROR": ""})


def recreation():
    # Alone: it is measured, too.
    command = ("tests/kubernetes/kubelet", "--recreate", "10", "--logs", "build/run/recreation")
    return [lanes.program("recreation", (lanes.PROGRAMS,), command, 99, 430)]


def kernel():
    return [lanes.half_of_kernel(f"all kernel {first}", f"{first},,2", short=()) for first in (1, 2)]


def upgrade():
    return [lanes.program("upgrade", (lanes.PROGRAMS,), ("tests/kubernetes/upgrade", "--backend", backend,
                                                         "--logs", f"build/run/upgrade-{backend}"), 2, 400, name=f"upgrade {backend}")
            for backend in ("local", "ovn")]


def fuzzing():
    seconds = os.environ.get("KURYR_FUZZ_SECONDS", "600")
    return [Task(f"{task.name}, long", "fuzzing", (*task.command[:2], seconds), task.needs, (), 1, int(seconds) + 3)
            for task in lanes.fuzz()]


def races():
    built = lanes.build("tsan build of all", "races", "tsan", options=("KURYR_TEST_LABELS=",), seconds=600)
    return [built, *lanes.ctest("races", built, 1200, preset="tsan")]


def dev():
    built = lanes.build("dev build", "dev", "dev", seconds=780)
    return [built, *lanes.ctest("dev", built, 480)]


def site():
    return [Task("site in Chromium", "site", ("bash", "-c", "tests/packages browser && tests/site --check"), seconds=90)]


def release():
    return [Task("release of all", "release", ("tests/release",), ("programs",), seconds=1200, builds=True)]


def reproducible():
    return [Task("reproducible", "reproducible", ("tests/reproducible",), ("programs",), seconds=3600, builds=True)]


def bench():
    # Alone: they are measured.
    return [Task("bench", "bench", ("tests/bench/run",), (), (), 99, 1800),
            Task("report", "bench", ("tests/bench/report", "--out", "build/run/figures.json"), (), ("bench",), 99, 1200)]
