"""A node for a storm: the agent gives up before its clients do."""
from harness.kuryr_node import AgentNode, kuryr_target

ADD_SECONDS = 20  # [cni_daemon] vif_annotation_timeout
OVS_SECONDS = 15


class StormNode(AgentNode):
    def __init__(self, plugin, daemon, api):
        super().__init__(kuryr_target(plugin), api, daemon=daemon)

    def options(self):
        usual = super().options()
        return {**usual, "cni_daemon": {"vif_annotation_timeout": ADD_SECONDS},
                "os_vif_ovs": {**usual["os_vif_ovs"], "ovs_vsctl_timeout": OVS_SECONDS}}
