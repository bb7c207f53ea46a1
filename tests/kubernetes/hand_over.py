"""Pages that hand a cluster over, by their commands: who may write plans, kuryr-controller's end, nodes of kuryr-kubernetes."""
import json
import os
from pathlib import Path

from harness.expectation import nothing
from harness.process import REPOSITORY, run
from harness.transcript import Transcript
from kubernetes.controllers import APP, SYSTEM_PODS, of_app
from kubernetes.node_pods import PORT_LIST
from kubernetes.other_producer import OtherProducer

DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"
# kuryr-kubernetes' own, whose program is not here.
ORIGINAL = "kuryr-cni-ds"
PAGE = Path("docs/from-kuryr-kubernetes.md")
SHOP = PORT_LIST.replace("/default/", "/shop/")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Kinds of kuryr-kubernetes whose objects have its finalizers, beside KuryrPorts.
KINDS = {"kuryrloadbalancers": "KuryrLoadBalancer", "kuryrnetworks": "KuryrNetwork", "kuryrnetworkpolicies": "KuryrNetworkPolicy"}
OWNED = ",".join(("services", "networkpolicies", *KINDS))
LEFT = [
    {"apiVersion": "v1", "kind": "Service", "metadata": {
        "name": "web", "finalizers": ["kuryr.openstack.org/service-finalizer", "example.com/other"]}, "spec": {"ports": [{"port": 80}]}},
    {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {
        "name": "web", "finalizers": ["kuryr.openstack.org/networkpolicy-finalizer"]}, "spec": {"podSelector": {}}},
    *({"apiVersion": "openstack.org/v1", "kind": kind, "metadata": {"name": "web", "finalizers": [finalizer]}}
      for kind, finalizer in zip(KINDS.values(), (
          "kuryr.openstack.org/kuryrloadbalancer-finalizers", "kuryrnetwork.finalizers.kuryr.openstack.org",
          "kuryr.openstack.org/networkpolicy-finalizer")))]


class HandOver:
    def __init__(self, checks):
        """checks: KubeletFacts, whose pods and DaemonSet are gone. kuryr-controller still runs."""
        self.fact, self.facts, self.api, self.pods = checks.fact, checks.facts, checks.api, checks.pods

    def state(self):
        self.writers()
        self.finalizers()
        self.uninstall()
        self.original()
        self.nodes()

    # ---- the facts
    def writers(self):
        with self.fact("docs/security.md: nobody but the producer may write KuryrPorts"):
            page = Transcript("Recommended: KuryrPorts as the only source", "docs/security.md")
            answers = {command: run("bash", "-c", f"{command} || true").strip() for command in page.take_commands()}
            page.finish()
            assert set(answers.values()) == {"no"}, answers

    def finalizers(self):
        page = Transcript("Finalizers and load balancers", str(PAGE))
        self.api.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        with self.fact(f"{PAGE}: its command takes kuryr-kubernetes' finalizers, and no others, from what that controller left"):
            self.define_kinds()
            in_shop("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": LEFT}))
            in_shop("delete", "--wait=false", OWNED, "--all")
            before = in_shop("get", OWNED, "--output=name").split()
            assert len(before) == len(LEFT), f"without the command there is {before}"
            page.next_block(self.facts)
            assert in_shop("get", OWNED, "--output=name").split() == ["service/web"], "another finalizer was taken, or one was left"
            assert in_shop("get", "service", "web", "--output=jsonpath={.metadata.finalizers}") == '["example.com/other"]'
            in_shop("patch", "service", "web", "--type=merge", '--patch={"metadata": {"finalizers": null}}')
            kubectl("delete", "customresourcedefinitions", *(f"{plural}.openstack.org" for plural in KINDS))
        with self.fact(f"{PAGE}: a KuryrPort that kuryr-kubernetes left goes once its finalizer is taken away"):
            self.api.request("POST", SHOP, {
                "apiVersion": "openstack.org/v1", "kind": "KuryrPort",
                "metadata": {"name": "web-0", "finalizers": ["kuryr.openstack.org/kuryrport-finalizer"]},
                "spec": {"podUid": "gone", "podNodeName": self.pods.node, "podStatic": False}, "status": {"vifs": {}}})
            self.api.request("DELETE", f"{SHOP}/web-0")
            assert [each["metadata"]["name"] for each in self.api.get(SHOP)["items"]] == ["web-0"], "it has gone by itself"
            page.next_block(self.facts)
            page.finish()
            nothing(self.api.get(SHOP)["items"], "left")

    def define_kinds(self):
        """With names and fields of kuryr-kubernetes' definitions, as far as the commands use them."""
        for plural, kind in KINDS.items():
            schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
            self.api.request("POST", DEFINITIONS, {
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.openstack.org"}, "spec": {
                    "group": "openstack.org", "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                    "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}]}})
            kubectl("wait", "--for=condition=Established", "--timeout=60s", f"customresourcedefinition/{plural}.openstack.org")

    def uninstall(self):
        with self.fact("docs/upgrade.md: kuryr-controller is gone when its first command returns, and leaves nothing"):
            page = Transcript("Remove kuryr-controller alone", "docs/upgrade.md")
            delete, remove = page.take_commands()
            page.finish()
            run("bash", "-uc", delete)
            nothing(of_app(self.api.get(SYSTEM_PODS)["items"], APP), "pods of it")
            environment = {**os.environ, "PATH": f"{REPOSITORY}/build/release/bin:{os.environ['PATH']}",
                           "KUBECONFIG": os.path.expanduser("~/.kube/config")}
            run("bash", "-uc", remove, env=environment)

    def original(self):
        with self.fact(f"a node has a pod of DaemonSet {ORIGINAL}", basis=True):
            labels = {"app": ORIGINAL}
            self.api.request("POST", DAEMON_SETS, {
                "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": ORIGINAL},
                "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                    "hostNetwork": True, "tolerations": [{"operator": "Exists"}], "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "cni", "image": "localhost/busybox:1", "imagePullPolicy": "Never",
                                    "command": ["/bin/sleep", "86400"]}]}}}})
            self.wait_for_pods({ORIGINAL: 1})

    def nodes(self):
        page = Transcript("Stage one: the nodes", str(PAGE), {"NODE": self.pods.node})
        with self.fact(f"{PAGE}: the agent runs on no node before the node is handed over"):
            for _ in range(3):
                page.next_block(self.facts)
            self.wait_for_pods({ORIGINAL: 1, "kuryr-daemon": 0})
        with self.fact("then it takes the other one's place there, doctor finds nothing to fix, and the node is in service again"):
            page.next_block(self.facts)
            self.wait_for_pods({ORIGINAL: 0, "kuryr-daemon": 1})
            assert not self.api.get(f"/api/v1/nodes/{self.pods.node}")["spec"].get("unschedulable"), "it is cordoned"
        with self.fact("the agent waits for no plan of a management port, which nobody writes"):
            (pod,) = [pod for pod in of_app(self.api.get(SYSTEM_PODS)["items"], "kuryr-daemon")
                      if "deletionTimestamp" not in pod["metadata"]]
            said = kubectl("--namespace=kube-system", "exec", pod["metadata"]["name"], "--", "kuryr-daemon", "status", "--json")
            assert not json.loads(said).get("node_network"), said
        with self.fact("a pod that another producer plans runs on it"):
            producer = OtherProducer(self.pods)
            pod = producer.with_port()
            producer.activate(pod)
            self.pods.wait_until_run([pod])
            self.pods.delete([pod])
            self.api.request("DELETE", f"{PORT_LIST}/{pod.name}")
            self.pods.wait_until_gone([pod])
        with self.fact("a port that kuryr-kubernetes left is listed"):
            run("ovs-vsctl", "--no-wait", "add-port", "br-int", "tap-left", "--",
                "set", "Interface", "tap-left", "external_ids:vm-uuid=kuryr")
            run("ovs-vsctl", "--timeout=30", "wait-until", "Interface", "tap-left", "error!=[]")
            (find,) = page.take_commands()
            page.finish()
            assert run("bash", "-uc", find).strip() == "tap-left"
            run("ovs-vsctl", "del-port", "tap-left")

    def wait_for_pods(self, wanted):
        """{app: how many run}"""
        def have(pods):
            found = {app: [pod["status"]["phase"] for pod in of_app(pods.values(), app)] for app in wanted}
            return all(phases == ["Running"] * wanted[app] for app, phases in found.items())

        self.api.wait(f"{wanted} run", have, SYSTEM_PODS)


def kubectl(*words, **options):
    return run("kubectl", *words, **options)


def in_shop(*words, **options):
    return kubectl("--namespace=shop", *words, **options)
