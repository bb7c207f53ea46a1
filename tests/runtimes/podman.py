"""podman with its CNI backend, local mode."""
from harness.process import run
from harness.runtime_node import CGROUPS
from harness.transcript import Transcript
from runtimes import node

NEEDS = CGROUPS


def check(facts):
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
