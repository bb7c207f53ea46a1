"""A cluster's Services: the API server gives them an address of each family, and a real kube-proxy leads there."""
import json
import subprocess

from harness.kube_api import find_programs
from harness.namespaces import WORK
from harness.report import Skipped
from kubernetes.release import Release, gate_options
from ovn.central import HOST_NAME
from ovn.exchange import PORT

CIDRS = {4: "10.96.0.0/16", 6: "fd00:96::/112"}
SERVICE_PORT = 80
# kube-proxy asks for its Node's; without one it waits for it.
NODE_ADDRESS = "192.0.2.2"


def api_options(programs):
    """kube-apiserver's."""
    return [*gate_options(Release(programs).gates(len(CIDRS))), f"--service-cluster-ip-range={','.join(CIDRS.values())}"]


class Proxy:
    """kube-proxy in the namespaces of the test."""

    def __init__(self, api):
        programs, why = find_programs("--cluster")
        if not programs:
            raise Skipped(why)
        api.patch(f"/api/v1/nodes/{HOST_NAME}/status", {"status": {"addresses": [{"type": "InternalIP", "address": NODE_ADDRESS}]}})
        kubeconfig = api.write_kubeconfig(WORK / "kube-proxy.kubeconfig")
        configuration = WORK / "kube-proxy.json"
        configuration.write_text(json.dumps({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "iptables",
            "clientConnection": {"kubeconfig": str(kubeconfig)}, "hostnameOverride": HOST_NAME,
            "featureGates": Release(programs).gates(len(CIDRS)),
            # Zero leaves the machine's own settings alone.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
            "iptables": {"minSyncPeriod": "0s", "syncPeriod": "30s"}}))
        with open(WORK / "kube-proxy.log", "ab") as log:
            self.process = subprocess.Popen([f"{programs}/kube-proxy", f"--config={configuration}"], stdout=log, stderr=log)

    def stop(self):
        self.process.kill()
        self.process.wait()


def create(api, name, plan):
    """A Service that leads to port PORT of the pod with that plan; {family: its address}."""
    made = json.loads(api.request("POST", "/api/v1/namespaces/default/services", {
        "metadata": {"name": name}, "spec": {"ipFamilyPolicy": "RequireDualStack", "ports": [
            {"name": "it", "port": SERVICE_PORT, "targetPort": PORT, "protocol": "TCP"}]}}))
    slices = f"/apis/discovery.k8s.io/{Release(api.programs).young_groups}/namespaces/default/endpointslices"
    for family in CIDRS:
        api.request("POST", slices, {
            "metadata": {"name": f"{name}-{family}", "labels": {"kubernetes.io/service-name": name}}, "addressType": f"IPv{family}",
            "ports": [{"name": "it", "port": PORT, "protocol": "TCP"}],
            "endpoints": [{"addresses": [plan.address(family)], "conditions": {"ready": True}}]})
    return {6 if ":" in address else 4: address for address in made["spec"]["clusterIPs"]}
