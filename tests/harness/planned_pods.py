"""Pods of a cluster that are bound to one node, with the plans of their attachments."""
from concurrent.futures import ThreadPoolExecutor

from harness.host import HERE
from harness.kube_api import TOKEN
from harness.pod import Plan


class PlannedPods:
    """The API server is the cluster's: several nodes may have pods there."""

    def __init__(self, api, host=HERE):
        """api: a KubeApi; host: its name is the node's."""
        self.api, self.host = api, host
        self.token = host.work / "token"
        self.token.write_text(TOKEN)

    def options(self):
        """The options of kuryr.conf for the API server."""
        return {"kubernetes": {"api_root": self.api.url, "ssl_ca_crt_file": self.api.ca, "token_file": self.token,
                               "node_name": self.host.name}}

    def create(self, name, plan=None, annotations=None):
        """Creates a pod of this node, as KubeApi.create_pod does."""
        return self.api.create_pod(name, plan, annotations, self.host.name)

    def make(self, plan=True, **port):
        """Creates a pod. plan: whether it has its annotation already; port: Plan's options."""
        number = next(self.api.numbers)
        return self.create(f"pod-{number}", Plan(number, **port), None if plan else {})

    def make_many(self, count, **port):
        with ThreadPoolExecutor(8) as makers:
            return list(makers.map(lambda _: self.make(**port), range(count)))

    def describe(self, attachment, pod=None, **options):
        """Gives an attachment its pod. pod: one that is there; options: make()'s for a new one."""
        attachment.pod = pod or self.make(**options)
        # The order of the pairs changes from run to run, as containerd's does.
        attachment.args = ";".join({*attachment.pod.arguments, f"K8S_POD_INFRA_CONTAINER_ID={attachment.container_id}"})

    def activate(self, attachment):
        """Says on the pod that its port is active."""
        attachment.pod.plan.active = True
        self.api.annotate(attachment.pod)
