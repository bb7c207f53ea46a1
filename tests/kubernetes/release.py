"""What differs between releases of Kubernetes, for a cluster of the tests."""
from functools import cached_property

from harness.process import run
from harness.report import Skipped


class Release:
    """Features of Kubernetes 1.N are asked for by what first had them, or first lacked them."""

    def __init__(self, programs):
        """programs: a folder with those of a release."""
        self.programs = programs
        # Kubernetes v1.36.2
        self.version = run(f"{programs}/kube-apiserver", "--version").split()[1].removeprefix("v")
        self.minor = int(self.version.split(".")[1])

    def __str__(self):
        return f"Kubernetes {self.version}"

    def need(self, minor, what):
        """Skips in releases before 1.minor, the first that all have it in."""
        if self.minor < minor:
            raise Skipped(f"Kubernetes {self.version} lacks {what}")

    # ---- options and fields of its programs
    def gates(self, families):
        """Feature gates of all programs, for so many families of addresses. Later releases have them on, then lose the names."""
        return {"IPv6DualStack": True} if families > 1 and self.minor < 21 else {}

    @property
    def api_gates(self):
        """Feature gates of kube-apiserver alone."""
        return {"BoundServiceAccountTokenVolume": True} if self.minor < 21 else {}

    @property
    def kubelet_options(self):
        # The other choice was Docker's own interface.
        return ["--container-runtime=remote"] if self.minor < 24 else []

    @property
    def node_controllers(self):
        """kube-controller-manager's, which taint nodes that are gone, and evict their pods."""
        return ["nodelifecycle", *(["taint-eviction-controller"] if self.minor >= 29 else ())]

    def ginkgo_options(self, at_once):
        """For so many tests at once, without colours. Version 2 has other names for it."""
        return [f"--procs={at_once}", "--no-color"] if self.minor >= 25 else [f"--nodes={at_once}", "--noColor"]

    # ---- its API
    @property
    def young_groups(self):
        """The version of policy and discovery.k8s.io."""
        return "v1" if self.minor >= 21 else "v1beta1"

    @property
    def stand_ins(self):
        """What a page's commands have in place of a word, as docs/install.md says."""
        return {"overlays": "overlays/before-1.21"} if self.minor < 21 else {}

    def is_ready(self, account):
        """Whether a service account, or None, may have pods: it first got a Secret with a token."""
        return bool(account and (self.minor >= 24 or account.get("secrets")))

    @property
    def ends_pods_first(self):
        """Of a namespace that ends, other objects go after its pods, also by a controller manager that is a release older."""
        return self.minor >= 34

    # ---- its tests
    @cached_property
    def image_names(self):
        """{name without registry and tag: names}, of the images that its network tests use."""
        if self.minor < 22:
            return {"agnhost": {"k8s.gcr.io/e2e-test-images/agnhost:2.21"}, "busybox": {"docker.io/library/busybox:1.29"},
                    "jessie-dnsutils": {"gcr.io/kubernetes-e2e-test-images/jessie-dnsutils:1.0"}, "pause": {"k8s.gcr.io/pause:3.2"}}
        names = {}
        for each in run(f"{self.programs}/e2e.test", "--list-images").split():
            names.setdefault(each.rpartition("/")[2].partition(":")[0], set()).add(each)
        return names


def gate_options(gates):
    """A program's."""
    return ["--feature-gates=" + ",".join(f"{name}={str(value).lower()}" for name, value in gates.items())] if gates else []
