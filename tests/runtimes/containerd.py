"""containerd over its CRI socket, as the kubelet drives it: many pods at once, in API mode and in local mode."""
import subprocess
from concurrent.futures import ThreadPoolExecutor

import node
from api import ApiServer
from cri import Cri
from node import run
from transcript import Transcript

PODS = 25
NEEDS = node.CGROUPS


class Containerd:
    """The daemon, with the configuration that /etc has."""

    def __init__(self, namespace):
        """`namespace`: containerd's, for the image."""
        with open("/run/node/containerd.log", "a", encoding="utf-8") as log:
            self._daemon = subprocess.Popen(["containerd"], stdout=log, stderr=log)
        self.cri = Cri("/run/containerd/containerd.sock")
        self.cri.version()
        if namespace:
            run("tests/runtimes/image /run/busybox.tar")
            run(f"ctr -n {namespace} images import /run/busybox.tar")

    def __enter__(self):
        return self.cri

    def __exit__(self, *_):
        self.cri.close()
        self._daemon.terminate()
        self._daemon.wait()


def check(facts):
    node.start_open_vswitch()
    server = ApiServer()
    transcript = Transcript("containerd")
    transcript.next_block(facts)
    pods = [server.create_pod(number) for number in range(11, PODS + 11)]
    _round(facts, "API mode", transcript, pods)
    for mode in ("bridge", "Open vSwitch"):
        transcript.next_block(facts)
        pods = [("default", f"pod-{number}", f"uid-{number}") for number in range(PODS)]
        _round(facts, f"local mode, {mode}", transcript, pods)
    transcript.finish()


def _round(facts, mode, transcript, pods):
    """All pods at once: made, reached, stopped, removed."""
    before = len(node.calls())
    with Containerd("k8s.io") as cri, ThreadPoolExecutor(PODS) as at_once:
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


def ping(netns, address):
    run(["nsenter", f"--net={netns}", "ping", "-c", "1", "-w", "10", address])
