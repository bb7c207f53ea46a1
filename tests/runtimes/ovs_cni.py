"""docs/from-ovs-cni.md: its rewritten network makes what ovs-cni made, and ovs-cni's own ports are left alone."""
import json
import os
import re
from pathlib import Path

from harness.process import run
from runtimes import node

PAGE = Path("docs/from-ovs-cni.md")
ADDRESS, MAC = "10.10.10.1/24", "02:00:00:00:00:01"
OTHERS = "vethovscni"


class Pod:
    def __init__(self, configuration):
        self.configuration = configuration
        self.environment = os.environ | {
            "CNI_CONTAINERID": "pod", "CNI_NETNS": "/run/netns/pod", "CNI_IFNAME": "net1", "CNI_PATH": "/opt/cni/bin",
            "CNI_ARGS": f"IgnoreUnknown=1;IP={ADDRESS};MAC={MAC}"}
        run("ip netns add pod")

    def call(self, command):
        return run(str(node.PLUGIN), input=self.configuration, env=self.environment | {"CNI_COMMAND": command})


def check(facts):
    node.start_open_vswitch()
    _, rewritten = re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    wanted = json.loads(rewritten)
    pod, bridge = Pod(rewritten), wanted["kuryr"]["bridge"]
    run("ovs-vsctl", "add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev")
    with facts.fact("the page's network: a port of its bridge with its VLAN, its MTU, and the address and MAC that are asked for"):
        made = json.loads(pod.call("ADD"))
        host = next(each["name"] for each in made["interfaces"] if not each.get("sandbox"))
        assert host in run("ovs-vsctl", "list-ports", bridge).split(), (host, made)
        assert run("ovs-vsctl", "get", "Port", host, "tag").strip() == str(wanted["kuryr"]["vlan"])
        (link,) = json.loads(run("ip -netns pod -json address show dev net1"))
        addresses = {f"{each['local']}/{each['prefixlen']}" for each in link["addr_info"] if each["family"] == "inet"}
        assert (link["mtu"], link["address"], addresses) == (wanted["mtu"], MAC, {ADDRESS}), link
    with facts.fact("its DEL takes the port away, and leaves ovs-cni's alone"):
        run("ip", "link", "add", OTHERS, "type", "veth", "peer", "name", "vethother")
        run("ovs-vsctl", "add-port", bridge, OTHERS, "--", "set", "Port", OTHERS,
            "external_ids:owner=ovs-cni.network.kubevirt.io", "external_ids:contNetns=/run/netns/pod",
            "external_ids:contIface=net1")
        for _ in range(2):
            pod.call("DEL")
        assert run("ovs-vsctl", "list-ports", bridge).split() == [OTHERS]
        listed = re.search(r"`ovs-vsctl (find .*?)`", PAGE.read_text(encoding="utf-8"))[1]
        assert OTHERS in run("ovs-vsctl", "--columns=name", *listed.split()), "the page's command does not list it"
