"""Facts that hold after a storm."""
import os
import time
from collections import Counter
from pathlib import Path

from harness.expectation import nothing, wait_for_none
from harness.kube_api import PODS
from harness.kuryr import ATTACHMENTS
from harness.kuryr_daemon import MOST_OVSDB_CONNECTIONS, OVSDB_CONNECTION
from harness.namespaces import WORK
from harness.open_vswitch import FOLDER

# A datagram that was sent so shortly before an outage was still on its way.
ON_ITS_WAY_SECONDS = 0.5


def state(scenario):
    """States them all."""
    calls(scenario)
    running_pods(scenario)
    leftovers(scenario)
    agent(scenario)
    goodbye(scenario)


def calls(scenario):
    fact, problems = scenario.facts.fact, scenario.ledger.problems
    with fact("every service was killed"):
        nothing([service.name for service in scenario.services if service.kills == 0], "was not")
    with fact("every call ends in time, with an answer as the specification has it"):
        nothing(problems["form"], "did not")
    with fact("a call fails only while something is away, and with code 5 or 11, or 100 where its answer was lost"):
        nothing(problems["reason"], "did otherwise")
    with fact("every ADD that succeeded had made what its result says, and what was planned"):
        nothing(problems["result"], "had not")
    with fact("no DEL that succeeded left its interface"):
        nothing(problems["leak"], "did")
    with fact("every pod was plugged in the end, every DEL succeeded"):
        nothing(problems["lost"], "lost")


def running_pods(scenario):
    fact = scenario.facts.fact
    with fact("running pods are untouched whenever kuryr-daemon was killed, and reach each other when Open vSwitch is back"):
        nothing((f"{name}: {problem}" for name, problem in scenario.storm.problems), "times not so")
    with fact("running pods are as they were: links, MACs, addresses, routes, ports, external_ids, records"):
        disturbance = scenario.find_disturbance()
        assert not disturbance, disturbance
    with fact("ovs-vswitchd keeps its lock on the database: without it, it takes all bridges away"):
        log = (FOLDER / "ovs-vswitchd.log").read_text().splitlines()
        nothing([line for line in log if "another ovs-vswitchd process" in line], "times it did not")
    with fact("datagrams between running pods are lost only while Open vSwitch is away"):
        traffic(scenario)


def traffic(scenario):
    # The userspace datapath forwards in ovs-vswitchd's main thread, which also stands still without the database.
    gaps = scenario.service("ovs-vswitchd").gaps + scenario.service("ovsdb-server").gaps
    flow = scenario.traffic.wait_until_all_flow()
    scenario.traffic.stop()
    assert flow, "they do not flow now"
    lost = scenario.traffic.lost()
    nothing((f"{scenario.running[pod].pod.name} at {at - scenario.begin:.2f} s, while "
             f"{sorted(scenario.storm.outages.during(at, at))} were away" for pod, at in lost
             if not any(begin - ON_ITS_WAY_SECONDS <= at <= end for begin, end in gaps)), "lost otherwise")
    print(f"        {len(lost)} of {scenario.traffic.count()} were lost; Open vSwitch was away for {length(gaps):.1f} of "
          f"{time.monotonic() - scenario.begin:.1f} s")


def length(spans):
    """The time that the spans cover together."""
    total, reached = 0.0, 0.0
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def leftovers(scenario):
    fact, node = scenario.facts.fact, scenario.node
    with fact("no link but the running pods' is left"):
        own = node.switch.links() | scenario.taps | {"lo", "ovs-netdev"}
        nothing(set(node.links()) - own, "left")
    with fact("OVSDB has ports and interfaces of the running pods only"):
        # A DEL may have left its port to the agent, which tries again after a while.
        wait_for_none(lambda: set(node.ovs.rows_by_port()) - scenario.taps - {node.ovs.bridge}, "left")
    with fact("OVSDB has a QoS row for each of them only"):
        wanted = {row["port"]["qos"][1] for row in scenario.rows.values()}
        wait_for_none(lambda: {uuid[1] for uuid in node.ovs.column("QoS", "_uuid")} - wanted, "left")
    with fact("there are records of the running pods only"):
        wanted = {node.kuryr.record_of(made) for made in scenario.running}
        wait_for_none(lambda: set(ATTACHMENTS.iterdir()) ^ wanted, "too many or too few")
    with fact("the API server has every pod, with its plan"):
        listed = scenario.api.get(PODS)["items"]
        found = {(pod["metadata"]["name"], pod["metadata"]["uid"]) for pod in listed if pod["metadata"]["annotations"]}
        nothing(found ^ {(pod.name, pod.uid) for pod in scenario.all_pods}, "too many or too few")
    with fact("no process is left"):
        ovs = {int((FOLDER / f"{name}.pid").read_text()) for name in ("ovsdb-server", "ovs-vswitchd")}
        wait_for_none(lambda: strays({node.agent.process.pid} | ovs | scenario.api.pids()), "left")


def strays(known):
    """Processes of the test's namespace that are neither known nor the test itself. known: PIDs."""
    own, found = {os.getpid()} | known, []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and int(folder.name) not in own:
                name, fields = (folder / "stat").read_text().rsplit(")", 1)
                # A process that has ended only waits for its parent.
                found += [name + ")"] if fields.split()[0] != "Z" else []
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def agent(scenario):
    fact, daemon = scenario.facts.fact, scenario.node.agent
    running = {f"default/{made.pod.name}" for made in scenario.running}
    with fact("kuryr-daemon status: ready, the running pods plugged, no others"):
        said = daemon.status()
        assert said["problem"] is None, said["problem"]
        attached = {name: pod["attachments"] for name, pod in said["pods"].items() if pod.get("attachments")}
        nothing(set(attached) ^ running, "too many or too few")
        nothing([a for each in attached.values() for a in each if a["state"] != "plugged"], "not plugged")
        nothing({f"default/{pod.name}" for pod in scenario.all_pods} - set(said["pods"]), "pods unknown")
    with fact("its metrics count the running pods, and no call at work"):
        metrics = daemon.metrics()
        assert metrics["kuryr_daemon_attachments"] == len(running), metrics["kuryr_daemon_attachments"]
        assert metrics["kuryr_daemon_registry_pods"] == len(scenario.all_pods), metrics["kuryr_daemon_registry_pods"]
        at_work = {name: value for name, value in metrics.items() if name.startswith("kuryr_daemon_requests_in_progress")}
        assert at_work and not any(at_work.values()), at_work
    with fact("it has no more descriptors and threads than it had before, but for the few connections to OVSDB that it keeps"):
        usual = scenario.census | Counter({OVSDB_CONNECTION: MOST_OVSDB_CONNECTIONS})
        wait_for_none(lambda: [f"{number} x {kind}" for kind, number in (daemon.census() - usual).items()], "kinds too many")
    with fact("its log has no internal error"):
        lines = (WORK / "agent.log").read_text(errors="replace").splitlines()
        nothing([line for line in lines if "internal error" in line or "terminate" in line], "lines")


def goodbye(scenario):
    fact, node = scenario.facts.fact, scenario.node
    with fact("CHECK finds the running pods as their ADD made them"):
        for made in scenario.running:
            made.check().silent()
    with fact("DEL removes them, and nothing is left"):
        for made in scenario.running:
            made.delete().silent()
        nothing(node.remains() - {f"link {name}" for name in ("lo", "ovs-netdev", node.ovs.bridge)}
                - {f"{table} {node.ovs.bridge}" for table in ("Port", "Interface")}, "left")
