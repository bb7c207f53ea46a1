"""`ctr run --cni`, local mode: the only DEL comes when the namespace is gone, or none at all."""
from harness.containerd import Containerd
from harness.namespaces import WORK
from harness.process import run
from harness.runtime_node import CGROUPS
from harness.transcript import Transcript
from runtimes import node

NEEDS = CGROUPS


def check(facts):
    run("tests/runtimes/image /run/busybox.tar")
    transcript = Transcript("ctr")
    transcript.next_block(facts)
    with Containerd(WORK / "containerd.log"):
        transcript.next_block(facts)
    transcript.finish()
    with facts.fact("the only DELs are without namespace, and none for what is detached"):
        assert [call[1:] for call in node.calls("DEL")] == [("default-one", ""), ("default-two", "")], node.calls()
    with facts.fact("nothing is left"):
        node.check_clean()
