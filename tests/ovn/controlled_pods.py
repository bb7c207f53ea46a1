"""A node whose pods kuryr-controller plans on OVN, or on Neutron with OVN."""
import json
import time

from controller.cluster import Cluster
from controller.controllers import Controller
from harness.kube_api import find_programs
from harness.kuryr import Kuryr
from harness.kuryr_daemon import KuryrDaemon
from harness.planned_pods import PlannedPods
from harness.pod import Pod as Sandbox
from harness.report import Skipped
from ovn.central import EVENT_SECONDS, HOST_NAME

STALE_SECONDS = 5


class ControlledPods:
    def __init__(self, chosen, node, backend, define=lambda cluster: None, seconds=EVENT_SECONDS, users="",
                 **sections):
        """chosen: the launcher's options; node: ovn.node's, which is given another agent; backend: sections of the controller's
        kuryr.conf; define(cluster) makes kinds of the API server; seconds: how long an ADD and a change of policies may take;
        users: Cluster's; sections: of the node's kuryr.conf."""
        programs, why = find_programs()
        if not programs:
            raise Skipped(why)
        self.node, self.patience = node, seconds
        self.node.agent.kill()
        cluster = Cluster(programs, users)
        self.api = cluster.api
        define(cluster)
        self.controller = Controller(0, chosen.controller, self.api, "kuryrport", backend)
        pods = PlannedPods(self.api)
        kuryr = Kuryr(pods, cni_daemon={"daemon_enabled": "true", "vif_annotation_timeout": seconds}, **sections)
        self.node.give(pods=pods, kuryr=kuryr, agent=KuryrDaemon(chosen.daemon, kuryr.usual_conf))
        self.node.agent.start()
        self.sandboxes = {}  # by NAMESPACE/NAME

    def ask(self, method, path, body=None):
        return json.loads(self.api.request(method, path, body))

    def run_pod(self, namespace, metadata, containers):
        """A pod, once it is plugged: {interface: {family: address}}."""
        made = self.ask("POST", f"/api/v1/namespaces/{namespace}/pods", {
            "metadata": metadata, "spec": {"nodeName": HOST_NAME, "containers": containers}})
        name = metadata["name"]
        sandbox = self.node.attachment(pod=Sandbox(name, made["metadata"]["uid"], namespace=namespace),
                                       conf={"kuryr_conf": self.node.kuryr.usual_conf})
        result = sandbox.add().result()
        self.sandboxes[f"{namespace}/{name}"] = sandbox
        addresses = {}
        for each in result["ips"]:
            address = each["address"].split("/")[0]
            interface = result["interfaces"][each["interface"]]["name"]
            addresses.setdefault(interface, {})[6 if ":" in address else 4] = address
        return addresses

    def wait_for(self, wanted, packets):
        """Waits until packets find the wanted ways alone. What differs in the end; "" for nothing."""
        started = time.monotonic()
        while True:
            found = packets.try_all(wanted)
            if found == wanted:
                return ""
            if time.monotonic() - started > STALE_SECONDS:
                # Open vSwitch 3.1.0 may keep an outdated flow of the userspace datapath while packets use it.
                self.node.ovs.forget_flows()
            if time.monotonic() - started > self.patience:
                return f"open and should not: {sorted(found - wanted)}; closed and should not: {sorted(wanted - found)}"
