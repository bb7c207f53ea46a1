"""podman with its CNI backend, local mode."""
import os
import subprocess

from harness.namespaces import WORK
from harness.process import run
from harness.report import Skipped
from harness.runtime_node import CGROUPS
from harness.transcript import Transcript
from runtimes import node

NEEDS = CGROUPS


def need_cni():
    """podman 5 is built without it."""
    conf = WORK / "cni.conf"
    conf.write_text('[network]\nnetwork_backend = "cni"\n')
    told = subprocess.run(["podman", "info", "--format", "{{.Host.NetworkBackend}}"], text=True, capture_output=True, check=False,
                          env={**os.environ, "CONTAINERS_CONF": str(conf)})
    if told.stdout.strip() != "cni":
        raise Skipped(f"this podman has no CNI: {told.stderr.strip() or told.stdout.strip()}")


def check(facts):
    with facts.fact("podman has CNI", basis=True):
        need_cni()
    run("tests/runtimes/image /run/busybox.tar")
    transcript = Transcript("podman")
    transcript.next_block(facts)
    transcript.next_block(facts)
    transcript.finish()
    with facts.fact("asked for VERSION, and each container had an ADD and a DEL in its namespace"):
        assert node.calls("VERSION")
        added = node.calls("ADD")
        assert len(added) == 3 and all(netns.startswith("/run/netns/netns-") for _, _, netns in added), added
        assert sorted(call[1:] for call in added) == sorted(call[1:] for call in node.calls("DEL")), node.calls()
    with facts.fact("nothing is left"):
        node.check_clean()
