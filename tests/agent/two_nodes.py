"""Two nodes side by side, each with Open vSwitch and kuryr-daemon, at one API server."""
from concurrent.futures import ThreadPoolExecutor

from agent.aftermath import strays
from harness.expectation import expect_same, wait_for_none
from harness.host import Segment
from harness.kube_api import FakeApiServer, make_certificates
from harness.kuryr_node import kuryr_node, kuryr_target
from harness.namespaces import WORK
from harness.process import run

NAMES = ("node1", "node2")


def state(facts, options):
    """The facts; options are the launcher's."""
    before = run("ip link show")
    with facts.fact("two nodes, each with Open vSwitch and kuryr-daemon, at one API server", basis=True):
        make_certificates(WORK / "tls")
        segment = Segment()
        api = FakeApiServer(WORK / "tls", WORK / "api.log", address=segment.address)
        with ThreadPoolExecutor() as makers:
            nodes = list(makers.map(lambda name: kuryr_node(
                kuryr_target(options.plugin), api, options.daemon, host=segment.make_host(name)), NAMES))
        empty = [node.remains() for node in nodes]
    with facts.fact("a pod on each is plugged at the same time", basis=True):
        with ThreadPoolExecutor() as runtimes:
            pods = list(runtimes.map(lambda node: node.added(), nodes))
        for made in pods:
            expect_same(sorted(made.pod.plan.addresses), sorted(made.addresses()), made.pod.name)
    with facts.fact("each agent, each Open vSwitch and each folder of records has the pod of its own node alone"):
        for node, made in zip(nodes, pods):
            found = [*node.agent.status()["pods"], *node.ovs.ports(), *node.kuryr.remains()]
            wanted = [f"default/{made.pod.name}", made.pod.plan.tap, f"record {node.kuryr.record_of(made).name}"]
            expect_same(wanted, found, node.host.name)
    with facts.fact("DEL of both leaves nothing on either node"):
        for node, made, found in zip(nodes, pods, empty):
            made.delete().silent()
            node.expect_only(found)
    with facts.fact("both nodes end, and leave no process and no link"):
        for node in nodes:
            node.stop()
        segment.stop()
        api.stop()
        wait_for_none(lambda: strays(set()), "left")
        expect_same(before, run("ip link show"), "links")
