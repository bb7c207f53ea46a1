"""A second network for pods, which pool san of kuryr.conf names, and the ports and groups that MultiNetworkPolicies change."""
import json

from controller import definitions
from controller.definitions import POLICIES
from harness.expectation import expect, expect_same
from neutron.planning import Planning
from ovn.facts_of_networks import FROM_BACKUP, NAMESPACE, PODS, SELECTION

CIDRS = {4: "10.45.0.0/24", 6: "fd00:45::/64"}
OPTIONS = "[kubernetes]\npod_security_groups_driver = policy\n"
MARK = "kuryr-policy"
NEWCOMER = "newcomer"


class San:
    def __init__(self, network):
        """network: the pods' first one."""
        self.network, self.neutron = network, network.neutron
        self.id = self.neutron.create("network", name="san")["id"]
        self.subnets = [self.neutron.create("subnet", network_id=self.id, ip_version=family, cidr=cidr, enable_dhcp=False)["id"]
                        for family, cidr in CIDRS.items()]

    def backend(self):
        """What kuryr.conf says of the backend."""
        return (f"{self.network.backend()}additional_subnets = *\n{OPTIONS}"
                f"[pool:san]\nsubnet = {','.join(self.subnets)}\nnamespaces = *\n")

    def groups_of_ports(self):
        """All groups that ports of pods have."""
        ports = self.neutron.get("ports?device_owner=compute:kuryr")["ports"]
        return {group for port in ports for group in port["security_groups"]}

    def policy_groups(self):
        return {each["id"] for each in self.neutron.get("security-groups")["security_groups"] if each["name"].startswith(MARK)}

    def expect_isolated_newcomer(self, pods):
        """pods: facts_of_networks'. A pod of the policy comes, which names a subnet of the network."""
        pods.isolate(FROM_BACKUP)
        Planning.wait_for("groups of the policy", lambda: len(self.policy_groups()) > 4)
        pods.run_pod(NAMESPACE, {"name": NEWCOMER, "labels": {"app": "database"}, "annotations": {SELECTION: "mine@san0"}},
                     [{"name": "pause", "image": "pause"}])
        uid = json.loads(pods.api.request("GET", f"{PODS}/{NEWCOMER}"))["metadata"]["uid"]
        groups = {port["network_id"]: set(port["security_groups"]) for port in self.neutron.get(f"ports?device_id={uid}")["ports"]}
        expect_same({self.network.open}, groups[self.network.network["id"]], "groups of eth0's port")
        expect(groups[self.id] and groups[self.id] <= self.policy_groups(), f"groups of san0's port: {groups[self.id]}")
        pods.ask("DELETE", f"{definitions.path(POLICIES, NAMESPACE)}/p")
