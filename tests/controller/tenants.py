"""Users whose rights end with a namespace: what they ask for, and which changes are theirs."""
import urllib.error
from urllib.parse import quote

from controller.cluster import RBAC
from controller.history import PODS, PORTS
from controller.life import Made
from controller.plan import PLANNER
from harness.kube_api import MERGE_PATCH

HOLD = "example.com/hold"  # a finalizer of theirs
# In its namespace a user has ClusterRole edit; this one has more.
MORE = [{"apiGroups": ["openstack.org"], "resources": ["kuryrports", "kuryrports/status"], "verbs": ["*"]},
        {"apiGroups": ["k8s.cni.cncf.io"], "verbs": ["*"],
         "resources": ["ipamclaims", "ipamclaims/status", "network-attachment-definitions"]}]


class Tenant:
    """A user of the namespace of its name. Thread-safe."""

    def __init__(self, name, has_more=False):
        self.name, self.has_more = name, has_more
        self.token = f"{name}-token"
        self.pods = f"/api/v1/namespaces/{name}/pods"
        self.ports = f"/apis/openstack.org/v1/namespaces/{name}/kuryrports"
        self.revisions = set()  # of changes that it made
        self.codes = {}  # {code: how often it was the answer}

    def line(self):
        """The user's line of --token-auth-file."""
        return f"{self.token},{self.name},{self.name}\n"

    def move_in(self, cluster):
        """Gives the user its rights; it has them when this returns."""
        self.cluster = cluster
        cluster.insist("POST", "/api/v1/namespaces", {"metadata": {"name": self.name}})
        self.bind("edit", {"kind": "ClusterRole", "name": "edit"})
        if self.has_more:
            cluster.insist("POST", f"{RBAC}/namespaces/{self.name}/roles", {"metadata": {"name": "more"}, "rules": MORE})
            self.bind("more", {"kind": "Role", "name": "more"})

    def bind(self, name, role):
        self.cluster.insist("POST", f"{RBAC}/namespaces/{self.name}/rolebindings", {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", **role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": self.name}]})

    def may(self, verb, group, resource, subresource=""):
        review = {"spec": {"resourceAttributes": {"namespace": self.name, "verb": verb, "group": group, "resource": resource,
                                                  "subresource": subresource}}}
        answer = self.cluster.insist("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, token=self.token)
        return answer["status"]["allowed"]

    def ask(self, method, path, body=None, **options):
        """The object that the API server answers; None where it refuses."""
        try:
            answer = self.cluster.insist(method, path, body, token=self.token, **options)
        except urllib.error.HTTPError as refused:
            self.codes[refused.code] = self.codes.get(refused.code, 0) + 1
            return None
        self.codes[200] = self.codes.get(200, 0) + 1
        if answer.get("metadata", {}).get("resourceVersion", "").isdigit():
            self.revisions.add(int(answer["metadata"]["resourceVersion"]))
        return answer

    def create_pod(self, name, annotations=None, labels=None, finalizers=None, **spec):
        """None where that is refused."""
        return self.ask("POST", self.pods, {
            "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}, "finalizers": finalizers or []},
            "spec": {"containers": [{"name": "pause", "image": "pause"}], **spec}})

    def patch(self, path, change):
        return self.ask("PATCH", path, change, kind=MERGE_PATCH)

    def annotate(self, name, annotations):
        return self.patch(f"{self.pods}/{quote(name)}", {"metadata": {"annotations": annotations}})

    def delete_pod(self, name, grace=0):
        return self.ask("DELETE", f"{self.pods}/{quote(name)}?gracePeriodSeconds={grace}")

    def delete_port(self, name):
        """Whatever holds it."""
        self.ask("DELETE", f"{self.ports}/{name}")
        self.patch(f"{self.ports}/{name}", {"metadata": {"finalizers": None}})

    def let_go(self, history):
        """Takes away finalizers that it has put itself: HOLD, and all of what does not say that kuryr-controller made it."""
        for kind, path in ((PODS, self.pods), (PORTS, self.ports)):
            for key, held in list(history.present[kind].items()):
                finalizers = held["metadata"].get("finalizers", [])
                is_foreign = kind == PORTS and PLANNER not in held["metadata"].get("annotations", {})
                name_space, name = key.split("/")
                if name_space == self.name and finalizers and (HOLD in finalizers or is_foreign):
                    rest = [each for each in finalizers if each != HOLD and not is_foreign]
                    self.cluster.insist_gently((404, 409), "PATCH", f"{path}/{name}", {"metadata": {"finalizers": rest}},
                                               kind=MERGE_PATCH)

    def made(self, pod):
        return Made(pod["metadata"]["name"], self.name, pod["metadata"]["uid"])
