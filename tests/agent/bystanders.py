"""Things of others on a node with pods: bridges, ports and links that no repair may touch."""
from harness.expectation import differences

BRIDGE, INTERNAL, PORT, PEER, TAP, KERNEL_BRIDGE = "br-else", "else0", "other0", "other1", "tap0000else-00", "qbrelse"
LINK_KEYS = ("ifindex", "address", "mtu", "ifalias", "master")


class Bystanders:
    def __init__(self, node):
        self.node, self.ovs = node, node.ovs
        host = node.host
        host.run("ip", "link", "add", PORT, "type", "veth", "peer", "name", PEER)
        host.run("ip", "link", "set", PORT, "alias", "of somebody else")
        host.run("ip", "link", "add", TAP, "type", "veth", "peer", "name", "tap-peer")
        host.run("ip", "link", "add", KERNEL_BRIDGE, "type", "bridge")
        for name in (PORT, TAP, KERNEL_BRIDGE):
            host.run("ip", "link", "set", name, "up")
        self.make_rows()
        self.before = self.picture()

    def make_rows(self):
        """Makes their rows, where somebody has lost them, as their owner would."""
        self.ovs.vsctl("--no-wait", "--may-exist", "add-br", BRIDGE, "--", "set", "Bridge", BRIDGE,
                       f"datapath_type={self.ovs.datapath}", "external_ids:owner=else", "--", "--may-exist", "add-port", BRIDGE,
                       INTERNAL, "tag=7", "--", "set", "Interface", INTERNAL, "type=internal", "external_ids:owner=else")
        self.ovs.vsctl("--no-wait", "--may-exist", "add-br", self.ovs.bridge, "--", "set", "Bridge", self.ovs.bridge,
                       f"datapath_type={self.ovs.datapath}", "--", "--may-exist", "add-port", self.ovs.bridge, PORT, "--", "set",
                       "Interface", PORT, "external_ids:iface-id=of-somebody-else")

    def picture(self):
        rows, links = self.ovs.rows_by_port(), self.node.links()
        for name in (BRIDGE, INTERNAL, PORT):
            for row in rows[name].values():
                if isinstance(row, dict):
                    row.pop("_uuid")
                    row.pop("ofport", None)
        return {"rows": {name: rows[name] for name in (BRIDGE, INTERNAL, PORT)},
                "links": {name: {**{key: links[name].get(key) for key in LINK_KEYS}, "up": "UP" in links[name]["flags"]}
                          for name in (PORT, PEER, TAP, KERNEL_BRIDGE)}}

    def difference(self):
        return differences(self.before, self.picture())
