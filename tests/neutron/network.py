"""A cluster's objects in Neutron: a network with a subnet of each family, security groups, and a port for each pod."""
from ovn.central import HOST_NAME
from ovn.vif import Port, Subnet

CIDRS = {4: "10.20.0.0/24", 6: "fd00:20::/64"}
SUBNETS = {family: {"cidr": cidr} for family, cidr in CIDRS.items()}
WEB_PORT = 80
TAG = "cluster-a"


class Network:
    def __init__(self, neutron, subnets=SUBNETS):
        """subnets: what Neutron is told of each, by family."""
        self.neutron = neutron
        self.network = neutron.create("network", name="pods")
        self.subnets = {}
        for family, values in subnets.items():
            made = neutron.create("subnet", network_id=self.network["id"], ip_version=family, enable_dhcp=False, **values)
            self.subnets[made["id"]] = Subnet(made["cidr"], made["gateway_ip"])
        self.open, self.web = self.add_group("open"), self.add_group("web")
        self.let_in(self.open)
        self.let_in(self.web, protocol="tcp", port_range_min=WEB_PORT, port_range_max=WEB_PORT)

    def backend(self, identity=None):
        """What kuryr.conf says of the backend. identity: its part of Keystone, if it is not a user's name and password."""
        return (f"[controller]\nbackend = neutron\nleader_elect = false\n"
                f"[neutron]\n{identity or self.neutron.identity.kuryr_options}"
                f"[neutron_defaults]\nproject = {self.neutron.identity.project}\npod_subnet = {','.join(self.subnets)}\n"
                f"pod_security_groups = {self.open}\nresource_tags = {TAG}\n")

    def add_group(self, name):
        """Everything out, nothing in."""
        return self.neutron.create("security_group", name=name)["id"]

    def let_in(self, group, **what):
        """The rules, one for each family."""
        return [self.neutron.create("security_group_rule", security_group_id=group, direction="ingress",
                                    ethertype=f"IPv{family}", **what)["id"] for family in CIDRS]

    def add_port(self, group):
        """(what Neutron says of it, its VIF's plan, which is not active)"""
        said = self.neutron.create("port", network_id=self.network["id"], device_owner="compute:kuryr", admin_state_up=True,
                                   security_groups=[group], fixed_ips=[{"subnet_id": each} for each in self.subnets],
                                   **{"binding:host_id": HOST_NAME})
        addresses = {ip["subnet_id"]: ip["ip_address"] for ip in said["fixed_ips"]}
        return said, Port(said["id"], said["mac_address"], self.network["mtu"],
                          tuple((subnet, addresses[identity]) for identity, subnet in self.subnets.items()), active=False)
