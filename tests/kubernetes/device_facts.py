"""kuryr-devices on a node with a kubelet: as a DaemonSet, and then as a program that knows a made-up card."""
import json
import os
import signal

from harness import namespaces
from harness.expectation import expect_same, nothing, wait_for_none
from harness.process import run
from harness.transcript import Transcript
from kubernetes import fake_devices, metrics_page
from kubernetes.controllers import SYSTEM_PODS, command_of, is_true, of_app
from kubernetes.device_vifs import DeviceVifs
from kubernetes.node_pods import SPEC
from kubernetes.replacement import Process

PROGRAM = "build/release/bin/kuryr-devices"
RESOURCE, OTHER = "example.com/kernel_vfs", "example.com/dpdk_vfs"
VARIABLE = "PCIDEVICE_EXAMPLE_COM_KERNEL_VFS"
BRIDGE = "ovs-cni.network.kubevirt.io/"
NODES = "/api/v1/nodes"
COUNT, PLACES = 4, 5
ROUNDS = 3


class DeviceFacts:
    def __init__(self, checks):
        """checks: KubeletFacts."""
        self.checks, self.fact, self.facts = checks, checks.fact, checks.facts
        self.node, self.api, self.pods = checks.cluster.node, checks.api, checks.pods

    def state(self, rounds=1):
        self.daemon_set()
        self.capacity()
        self.allocations()
        self.vifs()
        self.drivers()
        for number in range(1, rounds + 1):
            self.restarts(f"round {number}: " if rounds > 1 else "")
        self.ends()
        self.drain()
        self.bridges()
        self.stop()

    # ---- the facts
    def daemon_set(self):
        with self.fact("docs/device-plugins.md: kuryr-devices becomes ready by its probes, and the node has its resources", basis=True):
            page = Transcript("Start it in Kubernetes", "docs/device-plugins.md")
            page.next_block(self.facts)
            page.finish()
            self.api.wait("its pod is ready", lambda pods: any(
                is_true(pod, "Ready") for pod in of_app(pods.values(), "kuryr-devices")), SYSTEM_PODS)
            self.wait_for_devices({"intel.com/sriov_net": 0, "intel.com/sriov_dpdk": 0})
        self.api.request("DELETE", "/apis/apps/v1/namespaces/kube-system/daemonsets/kuryr-devices")
        self.api.wait("its pod is gone", lambda pods: not of_app(pods.values(), "kuryr-devices"), SYSTEM_PODS)

    def capacity(self):
        self.devices = fake_devices.make_card(COUNT)
        folder = namespaces.WORK / "devices"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"resourceList": [
            {"resourcePrefix": resource.split("/")[0], "resourceName": resource.split("/")[1], "selectors": {"drivers": [driver]}}
            for resource, driver in ((RESOURCE, "iavf"), (OTHER, "vfio-pci"))]}))
        self.conf = folder / "kuryr.conf"
        self.conf.write_text(f"[devices]\nconfig_file = {folder}/config.json\nsysfs = {fake_devices.SYSFS}\n"
                             f"devinfo_dir = {folder}/devinfo\novs_bridges = br-*\nbridge_places = {PLACES}\n")
        with self.fact(f"the node has {COUNT} devices of a card", basis=True):
            self.start()
            self.wait_for_devices({RESOURCE: COUNT, OTHER: 0})

    def allocations(self):
        with self.fact("pods get as many devices as there are, each its own, by their environment", basis=True):
            self.running = self.make(COUNT)
            self.pods.wait_until_run(self.running)
            self.given = {pod.name: self.device_of(pod) for pod in self.running}
            expect_same(self.devices, sorted(self.given.values()), "given")
        with self.fact("kuryr-devices status names their pods"):
            told = json.loads(self.ask("status", "--json"))["devices"]
            expect_same({device: f"default/{name}" for name, device in self.given.items()},
                        {each["id"]: each["pod"] for each in told}, "told")

    def vifs(self):
        vifs = DeviceVifs(self.checks, RESOURCE, self.devices)
        leaving, staying = self.running[0], self.running[1:]
        with self.fact("an agent with [sriov] physnet_resource_mappings is rolled out", basis=True):
            vifs.prepare()
        with self.fact("a VIFSriov that names no device is plugged with the one that the kubelet gave its pod"):
            self.pods.delete([leaving])
            pod = vifs.make(self.asking(RESOURCE))
            device = self.device_of(pod)
            expect_same(self.given.pop(leaving.name), device, "given")
            vifs.check(pod, device)
        with self.fact("when that pod ends, the device is the node's again, and the next pod gets it"):
            self.pods.delete([pod])
            vifs.wait_until_back()
            (late,) = self.make(1)
            self.pods.wait_until_run([late])
            expect_same(device, self.device_of(late), "given")
        vifs.remove_links()
        self.running = [late, *staying]
        self.given[late.name] = device

    def drivers(self):
        with self.fact("a device that a pod has stays its resource's while its driver is another"):
            for device in self.devices[:2]:
                fake_devices.set_driver(device, "vfio-pci")
            self.kill()
            self.start()
            self.wait_for_devices({RESOURCE: COUNT, OTHER: 0})
            nothing([line for line in self.log().splitlines() if "devices offered" in line and OTHER in line], "offered")
            for device in self.devices[:2]:
                fake_devices.set_driver(device, "iavf")

    def restarts(self, title):
        ways = {"kuryr-devices is killed": self.kill_and_start, "the kubelet is killed": self.restart_kubelet,
                "both are": self.restart_both}
        for way, act in ways.items():
            with self.fact(f"{title}{way} while pods come and go: no device is in two pods, none is lost"):
                leaving, staying = self.running[:2], self.running[2:]
                self.pods.delete(leaving)
                act()
                self.wait_for_devices({RESOURCE: COUNT})
                new = self.make(len(leaving))
                self.pods.wait_until_run(new)
                self.running = staying + new
                for pod in staying:
                    expect_same(self.given[pod.name], self.device_of(pod), pod.name)
                self.given = {pod.name: self.device_of(pod) for pod in self.running}
                expect_same(self.devices, sorted(self.given.values()), "given")

    def ends(self):
        with self.fact("a pod for which no device is left waits, and gets that of one that ends"):
            (late,) = self.make(1)
            self.pods.delete(self.running[:1])
            self.pods.wait_until_run([late])
            self.given[late.name] = self.device_of(late)
            expect_same(self.given[self.running[0].name], self.given[late.name], "given")
        self.running = [*self.running[1:], late]

    def drain(self):
        with self.fact("a node that is drained gives no device anew, and its pods keep theirs; undrained it gives them again"):
            self.pods.delete(self.running[:1])
            self.pods.wait_until_gone(self.running[:1])
            staying = self.running[1:]
            self.ask("drain")
            self.wait_for_devices({RESOURCE: len(staying), BRIDGE + "br-int": 0})
            for pod in staying:
                expect_same(self.given[pod.name], self.device_of(pod), pod.name)
            self.ask("undrain")
            self.wait_for_devices({RESOURCE: COUNT, BRIDGE + "br-int": PLACES})
            (late,) = self.make(1)
            self.pods.wait_until_run([late])
        self.running = [*staying, late]

    def bridges(self):
        with self.fact("bridges are resources while they are there, and a pod that asks for one gets a place"):
            self.wait_for_devices({BRIDGE + "br-int": PLACES})
            run("ovs-vsctl add-br br-late -- set Bridge br-late datapath_type=netdev")
            self.wait_for_devices({BRIDGE + "br-late": PLACES})
            (pod,) = self.make(1, BRIDGE + "br-late")
            self.pods.wait_until_run([pod])
            expect_same([{"resource": BRIDGE + "br-int", "places": PLACES, "taken": 0},
                         {"resource": BRIDGE + "br-late", "places": PLACES, "taken": 1}],
                        json.loads(self.ask("status", "--json"))["bridges"], "told")
            self.running.append(pod)
            run("ovs-vsctl del-br br-late")
            self.wait_for_devices({BRIDGE + "br-late": 0, BRIDGE + "br-int": PLACES})

    def stop(self):
        with self.fact("its metrics have the names, types and labels of docs/metrics.md"):
            metrics_page.check_devices()
        with self.fact("kuryr-devices' log has no error"):
            nothing([line for line in self.log().splitlines() if "level=error" in line], "lines")
        self.kill()
        self.pods.delete(self.running)
        self.pods.wait_until_gone(self.running)

    # ---- its parts
    def start(self):
        """It is registered when it returns."""
        self.begin()
        self.wait_until_registered()

    def begin(self):
        self.registered = self.registrations()
        self.node.start("kuryr-devices", [PROGRAM, f"--config-file={self.conf}", "--debug"])

    def registrations(self):
        return self.log().count("registered with the kubelet\" resource=" + RESOURCE)

    def log(self):
        log = self.node.logs / "kuryr-devices.log"
        return log.read_text() if log.exists() else ""

    def wait_until_registered(self):
        wait_for_none(lambda: [] if self.registrations() > self.registered else ["it is not registered"], "missing")

    def kill(self):
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            if command_of(pid)[:2] == [PROGRAM, f"--config-file={self.conf}"]:
                with Process(pid) as process:
                    os.kill(pid, signal.SIGKILL)
                    process.wait_for_end()

    def kill_and_start(self):
        for _ in range(ROUNDS):
            self.kill()
            self.start()

    def restart_kubelet(self):
        self.registered = self.registrations()
        self.node.restart_kubelet()
        self.wait_until_registered()

    def restart_both(self):
        self.kill()
        self.node.restart_kubelet()
        self.start()

    def ask(self, *arguments):
        return run(PROGRAM, f"--config-file={self.conf}", *arguments)

    def make(self, count, resource=RESOURCE):
        return self.pods.make(count, **self.asking(resource))

    @staticmethod
    def asking(resource):
        """The specification of a pod that asks for one."""
        (container,) = SPEC["containers"]
        return {"containers": [{**container, "resources": {"limits": {resource: "1"}}}]}

    def device_of(self, pod):
        (container,) = self.pods.get(pod)["status"]["containerStatuses"]
        code, said, errors = self.node.cri.exec_sync(container["containerID"].removeprefix("containerd://"), ["/bin/busybox", "env"])
        assert code == 0, (code, said, errors)
        return dict(line.partition("=")[::2] for line in said.splitlines())[VARIABLE]

    def wait_for_devices(self, wanted):
        self.api.wait(f"the node has {wanted}", lambda nodes: wanted.items() <= {
            name: int(count) for name, count in nodes["", self.node.name]["status"]["allocatable"].items() if "." in name}.items(), NODES)
