"""A node with OVN, Open vSwitch, pods of an API server and kuryr-daemon; and sandboxes of pods on logical ports there."""
from harness.kube_api import FakeApiServer, make_certificates
from harness.kuryr_node import kuryr_node, kuryr_target
from harness.namespaces import WORK
from ovn.central import EVENT_SECONDS, Ovn

# Ways to serve the plugin's calls.
AGENT, ALONE = "by the agent", "by kuryr-cni alone"
MODES = (AGENT, ALONE)


def make_node(plugin, daemon):
    make_certificates(WORK / "tls")
    node = kuryr_node(kuryr_target(plugin), FakeApiServer(WORK / "tls", WORK / "api.log"), daemon,
                      cni_daemon={"daemon_enabled": "true", "vif_annotation_timeout": EVENT_SECONDS})
    node.give(ovn=Ovn(node.ovs))
    return node


def sandbox(node, port, mode, conf=None):
    """A sandbox of a new pod whose annotation has the port; conf: another kuryr.conf than the mode's."""
    conf = conf or (node.kuryr.usual_conf if mode == AGENT else node.kuryr.write_conf(daemon_enabled="false"))
    return node.attachment(pod=node.pods.create(f"pod-{node.number()}", port), conf={"kuryr_conf": conf})


def running_pod(node, port, mode):
    made = sandbox(node, port, mode)
    made.add().result()
    return made


def second_sandbox(first):
    """Another sandbox of the same pod."""
    return first.node.attachment(pod=first.pod, conf=first.base_conf)


def sandbox_of_successor(old):
    """A sandbox of a new pod that has the old one's name and port."""
    pods = old.node.pods
    pods.api.delete_pod(old.pod)
    return old.node.attachment(pod=pods.create(old.pod.name, old.pod.plan), conf=old.base_conf)
