"""A node for a storm: the agent gives up before its clients do."""
from harness.kuryr_node import kuryr_node, kuryr_target

ADD_SECONDS = 20  # [cni_daemon] vif_annotation_timeout
OVS_SECONDS = 15


def storm_node(plugin, api, daemon=None, **sections):
    return kuryr_node(kuryr_target(plugin), api, daemon, **sections, cni_daemon={"vif_annotation_timeout": ADD_SECONDS},
                      os_vif_ovs={"ovs_vsctl_timeout": OVS_SECONDS})
