"""A VIF that names no device, and the one that the kubelet gave its pod: on a card whose virtual functions are veths."""
import json

from harness.expectation import expect_same, wait_for_none
from harness.kuryr import ATTACHMENTS
from harness.pod import ANNOTATION, Plan
from harness.process import run
from kubernetes import fake_devices

CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/kuryr-cni"
DAEMON_SET = "/apis/apps/v1/namespaces/kube-system/daemonsets/kuryr-daemon"
PHYSNET = "physnet1"
PF_LINK, PF_MAC = "ens1", "02:00:00:00:03:ff"


class DeviceVifs:
    def __init__(self, checks, resource, devices):
        """checks: KubeletFacts. devices: addresses of what the resource has."""
        self.checks, self.pods, self.api = checks, checks.pods, checks.api
        self.resource = resource
        self.links = {device: f"{PF_LINK}v{number}" for number, device in enumerate(devices)}

    def prepare(self):
        """The links, and an agent that is told of them."""
        self._add_link(PF_LINK, fake_devices.PF, PF_MAC)
        for number, (device, link) in enumerate(self.links.items()):
            self._add_link(link, device, f"02:00:00:00:03:{number:02x}")
        # The VIFs stand on annotations.
        conf = self.api.get(CONFIG_MAP)["data"]["kuryr.conf"].replace("vif_source = kuryrport", "vif_source = any")
        self.api.patch(CONFIG_MAP, {"data": {"kuryr.conf": f"""{conf}
[devices]
sysfs = {fake_devices.SYSFS}
[sriov]
physnet_resource_mappings = {PHYSNET}:{self.resource}
[binding]
drivers = ovs, sriov
"""}})
        template = self.api.get(DAEMON_SET)["spec"]["template"]
        template["metadata"].setdefault("annotations", {})["card"] = "made"
        template["spec"]["volumes"].append({"name": "card", "hostPath": {"path": str(fake_devices.SYSFS)}})
        template["spec"]["containers"][0]["volumeMounts"].append({"name": "card", "mountPath": str(fake_devices.SYSFS)})
        self.api.patch(DAEMON_SET, {"spec": {"template": template}})
        self.checks.wait_until_ready()

    @staticmethod
    def _add_link(name, device, mac):
        run(f"ip link add {name} address {mac} type veth peer name {name}-wire")
        run(f"ip link set {name}-wire up")
        fake_devices.give_link(device, name, mac)

    def remove_links(self):
        """Leaves no link of the card on the node."""
        for name in (PF_LINK, *self.links.values()):
            run(f"ip link delete {name}")

    def make(self, spec):
        """A pod with such a VIF."""
        plan = Plan(220)
        vif = plan.vif()
        vif["versioned_object.name"] = "VIFSriov"
        data = vif["versioned_object.data"]
        data.update(plugin="sriov", physnet=PHYSNET)
        for unused in ("bridge_name", "port_profile"):
            del data[unused]
        (pod,) = self.pods.make(1, {"annotations": {ANNOTATION: json.dumps(vif)}}, **spec)
        pod.plan = plan
        self.pods.wait_until_run([pod])
        return pod

    def check(self, pod, device):
        """The device's link is the pod's, and no other one is missing on the node."""
        (record,) = [file for file in ATTACHMENTS.iterdir() if pod.uid in file.read_text()]
        expect_same([device], [plug["device"] for plug in json.loads(record.read_text())["plugs"]], "recorded")
        expect_same([self.links[device]], self.missing(), "links that the node lacks")
        netns = self.pods.cri.netns(record.name.split(":")[1])
        (link,) = json.loads(run("nsenter", f"--net={netns}", "ip", "-json", "address", "show", "dev", "eth0"))
        addresses = {f"{each['local']}/{each['prefixlen']}" for each in link["addr_info"] if each["scope"] == "global"}
        expect_same([pod.plan.mac, sorted(pod.plan.addresses)], [link["address"], sorted(addresses)], "eth0")
        expect_same(pod.plan.address, self.pods.get(pod)["status"]["podIP"], "its status")

    def wait_until_back(self):
        wait_for_none(self.missing, "links that the node lacks")

    def missing(self):
        there = {link["ifname"] for link in json.loads(run("ip -json link"))}
        return sorted(set(self.links.values()) - there)
