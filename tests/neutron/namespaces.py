"""Namespaces whose pods have networks and subnets of their own: how kuryr-controller is told, and who makes and ends them."""

from controller.controllers import Controller
from neutron.network import TAG

PREFIXES = {4: ("10.60.0.0/16", 26), 6: ("fd00:60::/48", 64)}
NAMED = {"storage": "10.70.0.0/24", "shared": "10.71.0.0/24"}
STORAGE_USERS = "storage-users"
DEFINITIONS = "network-attachment-definitions"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{DEFINITIONS}.k8s.cni.cncf.io"},
    "spec": {"group": "k8s.cni.cncf.io", "scope": "Namespaced",
             "names": {"plural": DEFINITIONS, "singular": "network-attachment-definition", "kind": "NetworkAttachmentDefinition"},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {"spec": {"type": "object", "properties": {"config": {"type": "string"}}}}}}}]}}


class Namespaces:
    def __init__(self, planning):
        self.planning, self.api, self.neutron = planning, planning.api, planning.neutron
        self.router = self.neutron.create("router", name="namespaces")["id"]
        pools = [self.neutron.create("subnetpool", name=f"namespaces-{family}", prefixes=[prefix], default_prefixlen=length)["id"]
                 for family, (prefix, length) in PREFIXES.items()]
        self.subnets = {name: self.add_subnet(name, cidr) for name, cidr in NAMED.items()}
        self.listed, self.unlisted = planning.network.web, planning.network.add_group("unlisted")
        self.api.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        self.api.wait_for(f"/apis/k8s.cni.cncf.io/v1/{DEFINITIONS}")
        self.controller = Controller(4, planning.controller.program, self.api, "kuryrport", planning.network.backend() + (
            f"[kubernetes]\npod_subnets_driver = namespace\n"
            f"[namespace_subnet]\npod_subnet_pool = {','.join(pools)}\npod_router = {self.router}\n"
            f"[neutron_defaults]\nadditional_security_groups = {self.listed}\n"
            f"[pool:storage]\nsubnet = {self.subnets['storage']}\nnamespaces = {STORAGE_USERS}\n"
            f"[pool:shared]\nsubnet = {self.subnets['shared']}\nnamespaces = *\n"))

    def add_subnet(self, name, cidr):
        """With a network of its own."""
        network = self.neutron.create("network", name=name)["id"]
        return self.neutron.create("subnet", network_id=network, cidr=cidr, ip_version=4, enable_dhcp=False)["id"]

    # ---- of Kubernetes
    def create(self, name, annotations=None):
        self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "annotations": annotations or {}}})
        return self.api.get(f"/api/v1/namespaces/{name}")["metadata"]["uid"]

    def delete(self, name):
        """With the last word of the cluster's namespace controller, which is not here."""
        self.api.request("DELETE", f"/api/v1/namespaces/{name}")
        self.api.request("PUT", f"/api/v1/namespaces/{name}/finalize",
                         {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}})

    def define(self, namespace, pool):
        """A definition that has the pool's name."""
        self.api.request("POST", f"/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/{DEFINITIONS}", {
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": pool, "annotations": {"openstack.org/kuryr-config": f'{{"pool": "{pool}"}}'}}})

    def end_pods(self, *all_made):
        for made in all_made:
            made.delete().silent()
            self.planning.delete(made.pod.name, made.pod.namespace)
        for made in all_made:
            self.planning.wait_for(f"the end of {made.pod.name}", lambda pod=made.pod: self.planning.is_gone(pod.name, pod.namespace))

    # ---- of Neutron
    def networks(self, name):
        """The networks of a namespace."""
        return self.neutron.get(f"networks?name=ns/{name}-net")["networks"]

    def subnets_of(self, name):
        return self.neutron.get(f"subnets?name=ns/{name}-subnet")["subnets"]

    def router_subnets(self):
        """The subnets in which the router has an interface."""
        ports = self.neutron.get(f"ports?device_id={self.router}")["ports"]
        return {ip["subnet_id"] for port in ports for ip in port["fixed_ips"]}

    def mark(self, uid):
        """The description of a namespace's network."""
        return f"kuryr-controller of {TAG}: namespace {uid}"
