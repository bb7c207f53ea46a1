"""`ctr run --cni`, local mode: the only DEL comes when the namespace is gone, or none at all."""
import node
from containerd import Containerd
from node import run
from transcript import Transcript

NEEDS = node.CGROUPS


def check(facts):
    run("tests/runtimes/image /run/busybox.tar")
    transcript = Transcript("ctr")
    transcript.next_block(facts)
    with Containerd(None):
        transcript.next_block(facts)
    with facts.fact("DELs are without namespace, and what is detached has none but ours"):
        dels = [("default-one", ""), ("default-two", ""), ("default-three", "")]
        assert [call[1:] for call in node.calls("DEL")] == dels, node.calls()
    with facts.fact("nothing is left"):
        node.check_clean()
