"""A port goes from DOWN to ACTIVE and back, as its pod comes and goes."""
from ovn.exchange import FAMILIES, KINDS
from ovn.node import AGENT, ALONE, MODES, sandbox

# After its own start Neutron takes some 16 s for its first port.
ACTIVE_SECONDS = 60
TRY_AGAIN = 11
SHORT_SECONDS = 5


class Pods:
    def __init__(self, node, network):
        self.node, self.network, self.neutron = node, network, network.neutron
        self.all = {}

    def plug(self, group, mode):
        """Does the controller's part: waits for ACTIVE, then says so in the annotation."""
        said, plan = self.network.add_port(group)
        made = sandbox(self.node, plan, mode)
        call = made.start("ADD")
        self.neutron.wait_for_status(plan.id, "ACTIVE", ACTIVE_SECONDS)
        waited = call.poll() is None
        self.node.pods.activate(made)
        result = self.node.finish_call(call, "ADD").result()
        assert waited, "ADD has answered before"
        return said, made, result


def come(facts, pods):
    for mode in MODES:
        with facts.fact(f"{mode}: a port is DOWN, plugged, ACTIVE; annotated so, and the ADD is answered", basis=True):
            said, made, result = pods.plug(pods.network.open, mode)
            pods.all[mode] = made
            assert (said["status"], said["binding:vif_type"]) == ("DOWN", "ovs"), said
        with facts.fact(f"{mode}: the pod has the MAC, the addresses and the MTU of its port"):
            wanted = {f"{address}/{subnet.cidr.split('/')[1]}" for subnet, address in made.pod.plan.addresses}
            assert {ip["address"] for ip in result["ips"]} == wanted == made.addresses(), (result, made.addresses())
            link = made.link()
            assert (link["address"], link["mtu"]) == (said["mac_address"], pods.network.network["mtu"]), link
        with facts.fact(f"{mode}: OVN has claimed the port"):
            pods.node.ovn.wait_for_claim(said["id"])
            pods.node.ovn.wait_until_wired(made.pod.plan)


def reach_each_other(facts, pods):
    for family in FAMILIES:
        for kind, send in KINDS.items():
            with facts.fact(f"{kind} between two ports, IPv{family}", basis=True):
                send(pods.all[AGENT], pods.all[ALONE], family)


def give_up(facts, pods):
    with facts.fact("where the controller does not say ACTIVE, ADD fails with code 11, tells that OVN has the port, and leaves it DOWN"):
        _, plan = pods.network.add_port(pods.network.open)
        conf = pods.node.kuryr.write_conf(daemon_enabled="false", vif_annotation_timeout=SHORT_SECONDS)
        made = sandbox(pods.node, plan, ALONE, conf)
        try:
            made.add().error(TRY_AGAIN, ["active", "OVN has claimed port"])
        finally:
            made.delete().silent()
        pods.neutron.wait_for_status(plan.id, "DOWN", ACTIVE_SECONDS)


def go(facts, pods, before):
    for mode, made in pods.all.items():
        with facts.fact(f"{mode}: DEL, and the port is DOWN"):
            made.delete().silent()
            pods.neutron.wait_for_status(made.pod.plan.id, "DOWN", ACTIVE_SECONDS)
    with facts.fact("nothing is left on the node"):
        pods.node.expect_only(before)
