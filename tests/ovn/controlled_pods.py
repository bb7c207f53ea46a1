"""Nodes whose pods kuryr-controller plans: on OVN, or on Neutron with OVN."""
import contextlib
import json
import signal
import time

from controller.cluster import Cluster
from controller.controllers import Controller
from harness.kube_api import find_programs
from harness.kuryr import Kuryr
from harness.kuryr_daemon import KuryrDaemon
from harness.planned_pods import PlannedPods
from harness.pod import Pod as Sandbox
from harness.report import Skipped
from ovn.central import EVENT_SECONDS

STALE_SECONDS = 5


class ControlledPods:
    def __init__(self, chosen, node, backend, define=lambda cluster: None, seconds=EVENT_SECONDS, users="",
                 **sections):
        """chosen: the launcher's options; node: ovn.node's, which is given another agent; backend: sections of the controller's
        kuryr.conf; define(cluster) makes kinds of the API server; seconds: how long an ADD and a change of policies may take;
        users: Cluster's; sections: of the node's kuryr.conf."""
        self.node, self.patience, self.sections = node, seconds, sections
        self.begin(chosen, lambda programs: Cluster(programs, users), backend, define)

    def begin(self, chosen, make_cluster, backend, define):
        programs, why = find_programs()
        if not programs:
            raise Skipped(why)
        self.cluster = make_cluster(programs)
        self.api = self.cluster.api
        define(self.cluster)
        self.controller = Controller(0, chosen.controller, self.api, "kuryrport", backend)
        self.nodes = self.join(chosen)
        self.sandboxes = {}  # by NAMESPACE/NAME

    def join(self, chosen):
        """The API server's nodes, whose agents run."""
        self.node.agent.kill()
        pods = PlannedPods(self.api)
        kuryr = Kuryr(pods, cni_daemon={"daemon_enabled": "true", "vif_annotation_timeout": self.patience}, **self.sections)
        self.node.give(pods=pods, kuryr=kuryr, agent=KuryrDaemon(chosen.daemon, kuryr.usual_conf))
        self.node.agent.start()
        return [self.node]

    def ask(self, method, path, body=None):
        return json.loads(self.api.request(method, path, body))

    # ---- pods
    def run_pod(self, namespace, metadata, containers, node=None):
        """A pod, once it is plugged: {interface: {family: address}}. node: another one than the first."""
        made = self.create_pod(namespace, metadata, containers, node)
        made.add().result()
        return self.tell(made)

    def create_pod(self, namespace, metadata, containers, node=None):
        """Its sandbox, before the ADD."""
        node = node or self.nodes[0]
        made = self.ask("POST", f"/api/v1/namespaces/{namespace}/pods", {
            "metadata": metadata, "spec": {"nodeName": node.host.name, "containers": containers}})
        name = metadata["name"]
        sandbox = node.attachment(pod=Sandbox(name, made["metadata"]["uid"], namespace=namespace),
                                  conf={"kuryr_conf": node.kuryr.usual_conf})
        self.sandboxes[f"{namespace}/{name}"] = sandbox
        return sandbox

    def tell(self, sandbox):
        """Writes the status of a plugged pod, as a kubelet does. Its {interface: {family: address}}."""
        addresses = {}
        for each in sandbox.result["ips"]:
            address = each["address"].split("/")[0]
            interface = sandbox.result["interfaces"][each["interface"]]["name"]
            addresses.setdefault(interface, {})[6 if ":" in address else 4] = address
        ips = [{"ip": each} for each in addresses["eth0"].values()]
        self.api.patch(f"/api/v1/namespaces/{sandbox.pod.namespace}/pods/{sandbox.pod.name}/status",
                       {"status": {"phase": "Running", "podIP": ips[0]["ip"], "podIPs": ips}})
        return addresses

    def end_pod(self, namespace, name):
        self.sandboxes.pop(f"{namespace}/{name}").delete().silent()
        self.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}?gracePeriodSeconds=0")

    def path_of(self, name):
        """A pod's network namespace, by the path that the test reaches it."""
        sandbox = self.sandboxes[name]
        return str(sandbox.node.host.path(f"/run/netns/{sandbox.netns}"))

    # ---- faults and packets
    @contextlib.contextmanager
    def disturbed(self, number):
        """kuryr-controller is killed, and every second time (by number) starts only after the block."""
        self.controller.end(signal.SIGKILL)
        if number % 2:
            self.controller.start()
        yield
        if not number % 2:
            self.controller.start()

    def wait_for(self, wanted, packets):
        """Waits until packets find the wanted ways alone. What differs in the end; "" for nothing."""
        started = time.monotonic()
        while True:
            found = packets.try_all(wanted)
            if found == wanted:
                return ""
            if time.monotonic() - started > STALE_SECONDS:
                # Open vSwitch 3.1.0 may keep an outdated flow of the userspace datapath while packets use it.
                for node in self.nodes:
                    node.ovs.forget_flows()
            if time.monotonic() - started > self.patience:
                return f"open and should not: {sorted(found - wanted)}; closed and should not: {sorted(wanted - found)}"
