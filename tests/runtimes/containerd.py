"""containerd over its CRI socket, as the kubelet drives it: many pods at once, in API mode and in local mode."""
from concurrent.futures import ThreadPoolExecutor

from harness.containerd import Containerd
from harness.namespaces import WORK
from harness.pod import Plan, Pod
from harness.process import run
from harness.runtime_node import CGROUPS
from harness.traffic import ping
from harness.transcript import Transcript
from runtimes import node

PODS = 25
NEEDS = CGROUPS
IMAGE = WORK / "busybox.tar"


def start():
    """With an image for its pods."""
    daemon = Containerd(WORK / "containerd.log")
    run("tests/runtimes/image", IMAGE)
    daemon.import_images(IMAGE)
    return daemon


def check(facts):
    node.start_open_vswitch()
    api = node.start_api_server()
    transcript = Transcript("containerd")
    transcript.next_block(facts)
    pods = [api.create_pod(f"pod-{number}", Plan(number)) for number in range(11, PODS + 11)]
    _round(facts, "API mode", transcript, pods)
    for mode in ("bridge", "Open vSwitch"):
        transcript.next_block(facts)
        pods = [Pod(f"pod-{number}", f"uid-{number}") for number in range(PODS)]
        _round(facts, f"local mode, {mode}", transcript, pods)
    transcript.finish()


def _round(facts, mode, transcript, pods):
    """All pods at once: made, reached, stopped, removed."""
    before = len(node.calls())
    with start() as cri, ThreadPoolExecutor(PODS) as at_once:
        with facts.fact(f"{mode}: {PODS} sandboxes at once have an address each", basis=True):
            sandboxes = list(at_once.map(cri.run_pod_sandbox, pods))
            addresses = [cri.addresses(sandbox)[0] for sandbox in sandboxes]
            assert len(set(addresses)) == PODS, addresses
        with facts.fact(f"{mode}: each pod reaches the next"):
            spaces = [cri.netns(sandbox) for sandbox in sandboxes]
            list(at_once.map(ping, spaces, addresses[1:] + addresses[:1]))
        transcript.next_block(facts)
        with facts.fact(f"{mode}: all are stopped, stopped again and removed at once"):
            for request in (cri.stop_pod_sandbox, cri.stop_pod_sandbox, cri.remove_pod_sandbox):
                list(at_once.map(request, sandboxes))
        with facts.fact(f"{mode}: each had a DEL with its namespace, and a late one without"):
            for sandbox in sandboxes:
                dels = [netns for command, container, netns in node.calls()[before:]
                        if command == "DEL" and container == sandbox]
                assert dels[0].startswith("/var/run/netns/cni-") and dels[-1] == "", dels
        with facts.fact(f"{mode}: nothing is left"):
            node.check_clean()
