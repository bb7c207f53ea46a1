"""A node for kuryr-cni in API mode, with the services that most suites give it."""
from harness.host import HERE
from harness.kuryr import Kuryr
from harness.kuryr_daemon import KuryrDaemon
from harness.node import Node, Target
from harness.planned_pods import PlannedPods
from harness.open_vswitch import OpenVSwitch
from harness.process import REPOSITORY

RELEASE = REPOSITORY / "build/release/bin"


def kuryr_target(plugin=RELEASE / "kuryr-cni"):
    """kuryr-cni with the configuration of etc/10-kuryr.conflist."""
    return Target(str(plugin), {"name": "kuryr", "type": "kuryr-cni"}, supported=("1.1.0",))


def kuryr_node(target, api, daemon=None, host=HERE, ovs=None, **sections):
    """api: a KubeApi; daemon: the file of a kuryr-daemon, without which the plugin works alone; ovs: another Open vSwitch than
    one with br-int in userspace; sections: kuryr.conf's, as Kuryr takes them."""
    node = Node(target, host, ovs=ovs or OpenVSwitch(host=host), pods=PlannedPods(api, host))
    node.give(kuryr=Kuryr(node.ovs, node.pods, host=host, **sections))
    if daemon:
        node.give(agent=KuryrDaemon(daemon, node.kuryr.usual_conf, host))
        node.agent.start()
    return node
