"""A real API server whose pods kuryr-controller plans with ports of Neutron, and kuryr-daemon plugs, or the plugin alone."""
import dataclasses
import json
import os
import signal
import time

from controller.controllers import Controller
from harness.expectation import expect, expect_same
from harness.kuryr import Kuryr
from harness.kuryr_daemon import KuryrDaemon
from harness.planned_pods import PlannedPods
from harness.pod import Pod
from harness.process import run
from ovn.central import HOST_NAME
from ovn.node import AGENT, ALONE
from ovn.vif import Port, Subnet

SECONDS = 60
AGAIN_SECONDS = 0.05
DEFAULT = "default"


class Planning:
    def __init__(self, node, network, cluster, chosen, seconds=SECONDS):
        """node: one without a running agent; it is given the cluster's pods and another agent. chosen: the launcher's options, for
        the programs; seconds: how long an ADD waits."""
        self.node, self.network, self.neutron = node, network, network.neutron
        self.cluster, self.api = cluster, cluster.api
        self.controller = Controller(0, chosen.controller, self.api, "kuryrport", network.backend())
        pods = PlannedPods(self.api)
        kuryr = Kuryr(pods, cni_daemon={"daemon_enabled": "true", "vif_annotation_timeout": seconds},
                      kubernetes={"network_status": "true"})
        self.confs = {AGENT: kuryr.usual_conf, ALONE: kuryr.write_conf(daemon_enabled="false")}
        node.give(pods=pods, kuryr=kuryr, agent=KuryrDaemon(chosen.daemon, kuryr.usual_conf))
        node.agent.start()

    @staticmethod
    def path(kind, namespace=DEFAULT):
        """The path of a namespace's objects of the core."""
        return f"/api/v1/namespaces/{namespace}/{kind}"

    def create(self, name, node=HOST_NAME, namespace=DEFAULT, annotations=None, labels=None):
        """Creates a pod; returns its UID."""
        pod = {"metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}},
               "spec": {"nodeName": node, "containers": [{"name": "pause", "image": "pause"}]}}
        return json.loads(self.api.request("POST", self.path("pods", namespace), pod))["metadata"]["uid"]

    def ports_of(self, uid):
        return self.neutron.get(f"ports?device_id={uid}")["ports"]

    def vifs_of(self, name, namespace=DEFAULT):
        """{interface: its VIF's data} of the pod's KuryrPort."""
        for each in self.api.get(f"/apis/openstack.org/v1/namespaces/{namespace}/kuryrports")["items"]:
            if each["metadata"]["name"] == name:
                return {ifname: vif["vif"]["versioned_object.data"] for ifname, vif in each["status"]["vifs"].items()}
        return {}

    @staticmethod
    def wait_for(what, find, seconds=SECONDS):
        """Waits until find() returns a true value, which it returns."""
        deadline = time.monotonic() + seconds
        while not (found := find()):
            expect(time.monotonic() < deadline, f"not within {seconds} s: {what}")
            time.sleep(AGAIN_SECONDS)
        return found

    def plan_of(self, port):
        """The plan of Neutron's port, as the tests of traffic want it."""
        mtu = self.neutron.get(f"networks/{port['network_id']}")["network"]["mtu"]
        return Port(port["id"], port["mac_address"], mtu, tuple(
            (self.subnet_of(ip), ip["ip_address"]) for ip in port["fixed_ips"]))

    def subnet_of(self, fixed_ip):
        found = self.neutron.get(f"subnets/{fixed_ip['subnet_id']}")["subnet"]
        return Subnet(found["cidr"], found["gateway_ip"])

    def run_pod(self, name, mode=AGENT, **how):
        """A pod that is planned and plugged; its attachment, and what Neutron says of eth0's port. how: create()'s."""
        made = self.attach(name, self.create(name, **how), mode, how.get("namespace", DEFAULT))
        result = made.add().result()
        port = self.take_plan(made)
        return made, port, result

    def attach(self, name, uid, mode=AGENT, namespace=DEFAULT):
        """A pod's sandbox, which is not plugged yet."""
        return self.node.attachment(pod=Pod(name, uid, namespace=namespace), conf={"kuryr_conf": self.confs[mode]})

    def take_plan(self, made):
        """Makes eth0's port in Neutron the attachment's plan; returns what Neutron says of it."""
        port, = [each for each in self.ports_of(made.pod.uid) if each["name"].endswith("/eth0")]
        made.pod = dataclasses.replace(made.pod, plan=self.plan_of(port))
        return port

    def outlive_a_kill(self, controller, name, find_ports, node=HOST_NAME):
        """A pod whose port was made, and not written when its kuryr-controller was killed: the next one writes that port, and
        makes no second. find_ports(uid): its ports in Neutron. Its UID, its port as it was before, and its VIF."""
        self.neutron.signal(signal.SIGSTOP)
        try:
            uid = self.create(name, node)
            self.wait_for("the pod is heard of", lambda: controller.metrics().get('kuryr_controller_pods{state="waiting"}') == 1)
            os.kill(self.api.process.pid, signal.SIGSTOP)
        finally:
            self.neutron.signal(signal.SIGCONT)
        try:
            port, = self.wait_for("its port", lambda: find_ports(uid))
            controller.end(signal.SIGKILL)
        finally:
            os.kill(self.api.process.pid, signal.SIGCONT)
        expect(not self.vifs_of(name), "the plan was written before")
        controller.start()
        vif = self.wait_for("its plan", lambda: self.vifs_of(name))["eth0"]
        expect_same(port["id"], vif["id"], "planned port")
        expect_same([port["id"]], [each["id"] for each in find_ports(uid)], "ports")
        return uid, port, vif

    def delete(self, name, namespace=DEFAULT):
        self.api.request("DELETE", f"{self.path('pods', namespace)}/{name}?gracePeriodSeconds=0")

    def pods(self, namespace=DEFAULT):
        return self.api.get(self.path("pods", namespace))["items"]

    def is_gone(self, name, namespace=DEFAULT):
        return name not in [pod["metadata"]["name"] for pod in self.pods(namespace)]

    def events_of(self, name, namespace=DEFAULT):
        events = self.api.get(self.path("events", namespace))["items"]
        return {each["reason"]: each["message"] for each in events if each["involvedObject"]["name"] == name}

    def orphans(self, *options):
        return run(self.controller.program, "orphans", *options, "--config-file", self.controller.config, check=False)
