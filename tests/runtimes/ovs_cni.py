"""docs/from-ovs-cni.md: the page's networks, plugged by kuryr-cni under ovs-cni's name, and ovs-cni's own ports unplugged."""
import json
import os
import re
from pathlib import Path

from harness.process import run
from harness.transcript import Transcript
from kubernetes.page_steps import ssh_to
from runtimes import node

PAGE = Path("docs/from-ovs-cni.md")
PLUGIN = node.PLUGIN.with_name("ovs")
MAC = "02:00:00:00:00:01"
OTHERS = "vethovscni"
CACHE = Path("/tmp/ovscache")


class Pod:
    def __init__(self, configuration, address=""):
        """address: what Multus takes from the pod's annotation."""
        self.configuration = configuration
        asked = f";IP={address}" if address else ""
        self.environment = os.environ | {
            "CNI_CONTAINERID": "pod", "CNI_NETNS": "/run/netns/pod", "CNI_IFNAME": "net1", "CNI_PATH": "/opt/cni/bin",
            "CNI_ARGS": f"IgnoreUnknown=1{asked};MAC={MAC}"}

    def call(self, command):
        return run(str(PLUGIN), input=self.configuration, env=self.environment | {"CNI_COMMAND": command})

    def add(self):
        """The host's interface."""
        return next(each["name"] for each in json.loads(self.call("ADD"))["interfaces"] if not each.get("sandbox"))


def of_port(port, column):
    return run("ovs-vsctl", "get", "Port", port, column).strip()


def check(facts):
    node.start_open_vswitch()
    text = PAGE.read_text(encoding="utf-8")
    as_it_is, of_machine, with_more = re.findall(r"^```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    wanted, more = json.loads(as_it_is), json.loads(with_more)
    address = json.loads(re.search(r"k8s\.v1\.cni\.cncf\.io/networks: '(.*)'", text)[1])[0]["ips"][0]
    bridge = wanted["bridge"]
    page = Transcript("Changing over", str(PAGE), {"NODES": "node1"})
    ssh_to({"node1": []})
    PLUGIN.write_text("ovs-cni's own\n")
    page.next_block(facts)
    assert PLUGIN.readlink() == Path("kuryr-cni"), PLUGIN.readlink()
    assert node.PLUGIN.read_bytes() == Path("build/release/bin/kuryr-cni").read_bytes(), "another program"
    run("ip netns add pod")
    run("ovs-vsctl", "add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev")
    pod = Pod(as_it_is, address)
    with facts.fact("the page's network as it is: a port of its bridge with its VLAN, its MTU, the address and MAC that are asked for"):
        host = pod.add()
        assert host in run("ovs-vsctl", "list-ports", bridge).split(), host
        assert (of_port(host, "tag"), of_port(host, "vlan_mode")) == (str(wanted["vlan"]), "access")
        (link,) = json.loads(run("ip -netns pod -json address show dev net1"))
        addresses = {f"{each['local']}/{each['prefixlen']}" for each in link["addr_info"] if each["family"] == "inet"}
        assert (link["mtu"], link["address"], addresses) == (wanted["mtu"], MAC, {address}), link
        (see,) = page.take_commands()
        page.finish()
        assert host in run("bash", "-uc", see), "the page's command does not list it"
    with facts.fact("its DEL takes the port away, and one that ovs-cni plugged for the pod, too; a second finds nothing"):
        run("ip", "link", "add", OTHERS, "type", "veth", "peer", "name", "vethother")
        run("ovs-vsctl", "add-port", bridge, OTHERS, "--", "set", "Port", OTHERS,
            "external_ids:owner=ovs-cni.network.kubevirt.io", "external_ids:contNetns=/run/netns/pod",
            "external_ids:contIface=net1")
        pod.call("DEL")
        assert run("ovs-vsctl", "list-ports", bridge).split() == [OTHERS]
        for _ in range(2):
            pod.call("DEL")
        assert run("ovs-vsctl", "list-ports", bridge).split() == []
    with facts.fact("the page's network of a virtual machine: a port with its VLAN and the MAC that is asked for, without addresses"):
        pod = Pod(of_machine)
        host = pod.add()
        assert of_port(host, "tag") == str(json.loads(of_machine)["vlan"])
        (link,) = json.loads(run("ip -netns pod -json address show dev net1"))
        assert link["address"] == MAC and not [each for each in link["addr_info"] if each["family"] == "inet"], link
        pod.call("DEL")
    with facts.fact("what ovs-cni has not: native VLAN, bandwidth and mirror as the page says; and nothing of them after the DEL"):
        # This bridge has the userspace datapath, which cannot limit what a pod sends.
        more["bandwidth"] = {name: value for name, value in more["bandwidth"].items() if name.startswith("ingress")}
        pod = Pod(json.dumps(more), address)
        host = pod.add()
        assert (of_port(host, "tag"), of_port(host, "vlan_mode")) == (str(more["vlan"]), more["vlan_mode"])
        mirror = more["mirrors"][0]["name"]
        assert run("ovs-vsctl", "get", "Mirror", mirror, "select_src_port").strip() == f"[{of_port(host, '_uuid')}]"
        qos = run("ovs-vsctl list QoS")
        assert "linux-htb" in qos and str(more["bandwidth"]["ingressRate"]) in qos, qos
        pod.call("DEL")
        assert not run("ovs-vsctl list QoS") + run("ovs-vsctl list Mirror") + run("ovs-vsctl", "list-ports", bridge)
    with facts.fact("the way back: ovs-cni's program has its name again, and its cache what our pods need of it"):
        pod = Pod(as_it_is, address)
        pod.add()
        cached = json.loads((CACHE / "pod-net1").read_text())
        assert cached["Netconf"]["bridge"] == bridge, cached
        pod.call("DEL")
        back = Transcript("The way back", str(PAGE))
        back.next_block(facts)
        back.finish()
        assert PLUGIN.read_text() == "ovs-cni's own\n", "it is another file"
