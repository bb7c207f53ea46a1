"""Two logical switches and the router between them."""
import itertools
import uuid

from ovn.vif import Port, Subnet

MTU = 1442
SWITCHES = (1, 2)
ROUTER = "router"


def subnets(switch):
    return (Subnet(f"10.10.{switch}.0/24", f"10.10.{switch}.254"), Subnet(f"fd00:10:{switch}::/64", f"fd00:10:{switch}::fffe"))


class Topology:
    def __init__(self, ovn):
        self.ovn = ovn
        self.numbers = itertools.count(1)
        words = ["lr-add", ROUTER]
        for switch in SWITCHES:
            networks = [f"{subnet.gateway}/{subnet.cidr.split('/')[1]}" for subnet in subnets(switch)]
            words += ["--", "ls-add", f"switch{switch}", "--", "lrp-add", ROUTER, f"to-switch{switch}",
                      f"02:00:00:00:00:0{switch}", *networks, "--", "lsp-add", f"switch{switch}", f"to-router{switch}",
                      "--", "lsp-set-type", f"to-router{switch}", "router", "--", "lsp-set-addresses", f"to-router{switch}",
                      "router", "--", "lsp-set-options", f"to-router{switch}", f"router-port=to-switch{switch}"]
        ovn.nbctl(*words)

    def add_port(self, switch):
        number = next(self.numbers)
        four, six = subnets(switch)
        port = Port(str(uuid.uuid4()), f"fa:16:3e:00:0{switch}:{number:02x}", MTU,
                    ((four, f"10.10.{switch}.{number}"), (six, f"fd00:10:{switch}::{number:x}")))
        plan = " ".join([port.mac, port.address(4), port.address(6)])
        self.ovn.nbctl("--wait=sb", "lsp-add", f"switch{switch}", port.id, "--", "lsp-set-addresses", port.id, plan,
                       "--", "lsp-set-port-security", port.id, plan)
        return port

    def want_version(self, port, version):
        """OVN then claims it only for an interface that tells the same iface-id-ver."""
        self.ovn.nbctl("--wait=sb", "lsp-set-options", port.id, f"iface-id-ver={version}")
