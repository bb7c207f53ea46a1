"""The kernel's bridges on a node, as the switch that host ends of attachments are in."""
import json


class LinuxBridges:
    def __init__(self, host):
        self.host = host

    def _links(self):
        return json.loads(self.host.run("ip -j -d link show"))

    def links(self):
        """The names of links that are the switch's own, not an attachment's."""
        return {link["ifname"] for link in self._links()
                if link.get("linkinfo", {}).get("info_kind") in ("bridge", "openvswitch")}

    def picture(self):
        """The state that CHECK and STATUS must not change."""
        return sorted(f"{link['ifname']} in {link.get('master')}" for link in self._links())

    def unplug(self, link):
        """Takes a host end (as ip tells of it) out of its bridge."""
        self.host.run("ip", "link", "set", link["ifname"], "nomaster")

    def plug(self, name):
        for bridge in self.links():
            self.host.run("ip", "link", "set", name, "master", bridge)

    def has(self, name):
        return name in {link["ifname"] for link in self._links()}
