"""A pod with a hostPort and limits, as the kubelet asks containerd for it: Debian's portmap and bandwidth behind
kuryr-cni."""
from harness.pod import Pod
from harness.process import run
from harness.runtime_node import CGROUPS, PACKET_FILTER, SHAPING
from harness.traffic import flow
from harness.transcript import Transcript
from runtimes import containerd, node

NEEDS = CGROUPS + SHAPING + PACKET_FILTER
ANNOTATIONS = {"kubernetes.io/ingress-bandwidth": "20M", "kubernetes.io/egress-bandwidth": "20M"}
HOST_PORT = ("192.0.2.1", 8080)


def check(facts):
    Transcript("containerd").next_block(facts)
    transcript = Transcript("hostPort and bandwidth")
    transcript.next_block(facts)
    _connect_outside()
    with containerd.start() as cri:
        with facts.fact("a sandbox with a hostPort and limits runs", basis=True):
            sandbox = cri.run_pod_sandbox(Pod("web", "uid-1"), ANNOTATIONS, [(HOST_PORT[1], 80)])
        netns = cri.netns(sandbox)
        transcript.next_block(facts)
        transcript.finish()
        with facts.fact("the hostPort is reached from outside of the node"):
            flow("/run/netns/outside", netns, HOST_PORT, 80)
        with facts.fact("the hostPort is reached from its own pod"):
            flow(netns, netns, HOST_PORT, 80)
        cri.stop_pod_sandbox(sandbox)
        cri.remove_pod_sandbox(sandbox)
    run("ip link delete to-outside")
    with facts.fact("nothing is left"):
        node.check_clean()
    with facts.fact("no packet filter's rule is left"):
        rules = run("iptables-save") + run("nft list ruleset")
        assert "CNI-DN-" not in rules and sandbox not in rules and "10.22." not in rules, rules


def _connect_outside():
    """A machine beside the node, 192.0.2.2."""
    run("ip netns add outside")
    run("ip link add to-outside type veth peer name eth0 netns outside")
    run("ip address add 192.0.2.1/24 dev to-outside")
    run("ip link set to-outside up")
    run("ip -netns outside address add 192.0.2.2/24 dev eth0")
    run("ip -netns outside link set eth0 up")
