"""What has to be true of etc/kubernetes/ on a node with a kubelet."""
import errno
import json
import os
import shutil
import stat
import urllib.error
import urllib.request
from pathlib import Path

import agent_image
from aftermath import nothing, wait_for_none
from cluster import LOGS, NODE, WORK, Cluster
from node import run
from node_pods import NodePods
from replacement import MEANWHILE, Process, Replacement
from scenario import differences

MANIFESTS = Path("etc/kubernetes")
AGENT = ["/usr/local/bin/kuryr-daemon"]
AGENT_LIST = "/api/v1/namespaces/kube-system/pods"
DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"
EVENTS = "/api/v1/namespaces/default/events"
ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TOKEN_FILE = "run/secrets/kubernetes.io/serviceaccount/token"
# As cni/agent/capabilities.cc has them.
CAPABILITIES = {"dac_override": 1, "net_admin": 12, "sys_ptrace": 19, "sys_admin": 21}
INSTALLED = {"/opt/cni/bin/kuryr-cni": 0o755, "/etc/kuryr/kuryr.conf": 0o600, "/etc/cni/net.d/10-kuryr.conflist": 0o644}
# Where the API server takes each of the manifests' kinds.
COLLECTIONS = {
    "ServiceAccount": "/api/v1/namespaces/kube-system/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/kube-system/configmaps",
    "DaemonSet": DAEMON_SETS,
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"}
# (group, resource, verb): as README.md has them, and some that it does not grant.
GRANTED = {*((group, resource, verb) for group, resource in (("", "pods"), ("openstack.org", "kuryrports"))
             for verb in ("get", "list", "watch")), ("", "events", "create")}
NOT_GRANTED = {("", "pods", "patch"), ("", "pods", "delete"), ("", "secrets", "get"), ("", "configmaps", "get"),
               ("", "nodes", "get"), ("", "events", "list"), ("openstack.org", "kuryrports", "patch")}
AT_ONCE = 10


class KubeletFacts:
    def __init__(self, facts, programs, image_base):
        self.fact, self.programs, self.image_base = facts.fact, programs, image_base

    def run(self):
        with self.fact("the image is built by its Containerfile", basis=True):
            self.cluster = Cluster(self.programs)
            run("tests/runtimes/image /run/node/busybox.tar")
            for archive in ("/run/node/busybox.tar", agent_image.build(self.image_base)):
                run(["ctr", "-n", "k8s.io", "images", "import", archive])
        with self.fact("kube-apiserver, controllers, scheduler, kubelet, containerd and Open vSwitch run", basis=True):
            self.cluster.start_kubernetes()
            self.api = self.cluster.api
        self.install()
        self.pods = NodePods(self.cluster)
        self.rights()
        self.network()
        self.waiting()
        self.replacements()
        self.status()
        self.ends()

    # ---- the agent
    def agent(self):
        """(its pod, the process of its container)"""
        (pod,) = [pod for pod in self.api.get(AGENT_LIST)["items"] if "deletionTimestamp" not in pod["metadata"]]
        # Probes execute the same program, with arguments.
        (pid,) = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()
                  and command_of(folder) == AGENT]
        return pod, pid

    def agent_log(self):
        logs = sorted(Path("/var/log/pods").glob("kube-system_kuryr-daemon-*/kuryr-daemon/*.log"), key=os.path.getctime)
        return "".join(log.read_text() for log in logs)

    def wait_until_ready(self):
        # The pod's state tells more of a failure.
        self.api.wait("its pod is ready", lambda pods: any(is_true(pod, "Ready") for pod in pods.values()), AGENT_LIST)
        self.api.wait("it is ready", is_ready, DAEMON_SETS)

    def ask_agent(self, *arguments):
        """What its own program answers, executed in its container."""
        (container,) = self.agent()[0]["status"]["containerStatuses"]
        code, said, errors = self.cluster.cri.exec_sync(container["containerID"].removeprefix("containerd://"),
                                                        [*AGENT, *arguments])
        assert code == 0, (code, said[-2000:], errors)
        return said

    # ---- the facts
    def install(self):
        with self.fact("a node without a CNI configuration is not ready"):
            self.api.wait("no CNI configuration", lambda nodes: "cni plugin not initialized" in not_ready(nodes),
                          "/api/v1/nodes")
        for name in ("rbac.yaml", "kuryrport.yaml", "kuryr-daemon.yaml"):
            with self.fact(f"the API server takes {name} as it is", basis=True):
                self.apply(MANIFESTS / name)
        with self.fact("the DaemonSet becomes ready by its probes", basis=True):
            self.wait_until_ready()
            (container,) = self.agent()[0]["status"]["containerStatuses"]
            assert container["restartCount"] == 0 and container["started"], container
        with self.fact("install-cni put kuryr-cni, kuryr.conf and the CNI configuration on the node, the latter last"):
            found = {path: os.stat(path) for path in INSTALLED}
            modes = {path: stat.S_IMODE(each.st_mode) for path, each in found.items()}
            assert modes == INSTALLED, modes
            order = sorted(found, key=lambda path: found[path].st_ctime_ns)
            assert order == list(INSTALLED), order
            for built, path in zip(("build/release/bin/kuryr-cni", None, "etc/10-kuryr.conflist"), INSTALLED):
                assert not built or Path(built).read_bytes() == Path(path).read_bytes(), f"{path} is not {built}"
            nothing([file for path in INSTALLED for file in Path(path).parent.glob(".*")], "left by it")
            assert stat.S_IMODE(os.stat("/run/kuryr").st_mode) == 0o700, "/run/kuryr is open to others"
        with self.fact("then the node is ready"):
            self.api.wait("it is ready", lambda nodes: not not_ready(nodes) and not any(
                each["spec"].get("taints") for each in nodes.values()), "/api/v1/nodes")

    def apply(self, file):
        for text in file.read_text().split("\n---\n"):
            fields = dict(line.split(": ", 1) for line in text.splitlines() if line.startswith(("kind: ", "  name: ")))
            self.api.apply(f"{COLLECTIONS[fields['kind']]}/{fields['  name']}", text)

    def rights(self):
        pid = self.agent()[1]
        with self.fact(f"the agent's capabilities are {', '.join(CAPABILITIES)} and it gets no others"):
            status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            wanted = f"{sum(1 << number for number in CAPABILITIES.values()):016x}"
            found = {name: status[name] for name in ("CapPrm", "CapEff", "CapBnd")}
            assert set(found.values()) == {wanted}, f"{found}, not {wanted}"
            assert status["CapInh"] == status["CapAmb"] == f"{0:016x}", (status["CapInh"], status["CapAmb"])
            assert status["NoNewPrivs"] == "1", status["NoNewPrivs"]
        root = Path(f"/proc/{pid}/root")
        with self.fact("its root file system is read-only"):
            try:
                (root / "usr/written").touch()
                raise AssertionError("it is not")
            except OSError as error:
                assert error.errno == errno.EROFS, error
        with self.fact("its service account may what README.md says, and no more"):
            token = (root / TOKEN_FILE).read_text()
            nothing({each for each in GRANTED | NOT_GRANTED if self.may(token, *each)} ^ GRANTED, "too many or too few")

    def may(self, token, group, resource, verb):
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {
            "resourceAttributes": {"group": group, "resource": resource, "verb": verb, "namespace": "default"}}}
        request = urllib.request.Request(self.api.url + ACCESS, json.dumps(review).encode(), {
            "Content-Type": "application/json", "Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, context=self.api.tls, timeout=30) as answer:
            return json.load(answer)["status"]["allowed"]

    def network(self):
        with self.fact(f"{AT_ONCE} pods at once run, with their planned addresses in their namespaces and ports in OVSDB",
                       basis=True):
            self.running = self.pods.make(AT_ONCE)
            self.pods.wait_until_run(self.running)
            for pod in self.running:
                self.pods.check(pod)
        with self.fact("each reaches the next"):
            for pod, other in zip(self.running, self.running[1:] + self.running[:1]):
                run(["nsenter", f"--net={self.pods.netns(pod)}", "ping", "-c", "1", "-w", "10", other.plan.address])
        with self.fact("their calls were the agent's"):
            said = self.agent_log()
            containers = [self.pods.sandbox(pod) for pod in self.running]
            nothing([each for each in containers if f"command=ADD container={each}" not in said], "not in its log")

    def waiting(self):
        with self.fact("a pod whose annotation comes later starts then"):
            (late,) = self.pods.make(1, annotated=False)
            self.pods.wait_until_begun(late)
            self.pods.annotate(late)
            self.pods.wait_until_run([late])
            self.pods.check(late)
            self.running.append(late)
        with self.fact("one whose KuryrPort comes later starts then"):
            (with_port,) = self.pods.make(1, annotated=False)
            self.pods.wait_until_begun(with_port)
            self.pods.make_kuryr_port(with_port)
            self.pods.wait_until_run([with_port])
            self.pods.check(with_port)
            self.running.append(with_port)
        with self.fact("one whose port is not ACTIVE says so by an Event, and starts when it is"):
            (inactive,) = self.pods.make(1, active=False)
            self.api.wait("the Event", lambda events: any(
                (each["involvedObject"]["uid"], each["reason"], each["source"])
                == (inactive.uid, "CNIWaitingForActiveVIFs", {"component": "kuryr-cni", "host": NODE})
                for each in events.values()), EVENTS)
            inactive.plan.active = True
            self.pods.annotate(inactive)
            self.pods.wait_until_run([inactive])
            self.running.append(inactive)

    def replacements(self):
        self.pictures = {pod.name: self.pods.picture(pod) for pod in self.running}
        ways = {"its pod is deleted": self.delete_agent, "a new template is rolled out": self.roll_out,
                "its process is killed": lambda pod, pid: os.kill(pid, 9)}
        leaving = self.pods.make(MEANWHILE)
        self.pods.wait_until_run(leaving)
        for way, act in ways.items():
            with self.fact(f"{way} while pods come and go: none fails, nothing is left of those that go"):
                leaving = Replacement(self, act, leaving).go()
            with self.fact(f"{way}: the pods that ran before are as they were"):
                for pod in self.running:
                    difference = differences(self.pictures[pod.name], self.pods.picture(pod))
                    assert not difference, f"{pod.name}: {difference}"

    def delete_agent(self, pod, _):
        self.api.request("DELETE", f"{AGENT_LIST}/{pod['metadata']['name']}")

    def roll_out(self, *_):
        template = {"metadata": {"annotations": {"rolled": "out"}}}
        self.api.patch(f"{DAEMON_SETS}/kuryr-daemon", {"spec": {"template": template}})

    def status(self):
        with self.fact("kuryr-daemon status, in its container, finds the node ready and the pods plugged"):
            pods = json.loads(self.ask_agent("status", "--json"))["pods"]
            plugged = {name.removeprefix("default/") for name, pod in pods.items()
                       if [each["state"] for each in pod.get("attachments", ())] == ["plugged"]}
            assert plugged == set(self.pods.living), plugged ^ set(self.pods.living)
        with self.fact("kuryr-daemon status POD finds the whole way of one as its ADD made it"):
            said = self.ask_agent("status", f"default/{self.running[0].name}")
            assert "eth0 ── " in said and "✗" not in said, said
        with self.fact("its log has no warning and no error"):
            nothing([line for line in self.agent_log().splitlines() if "level=info" not in line], "lines")
        with self.fact("the API server refused the agents nothing, and they asked for nothing else"):
            made = self.api.agent_requests()
            nothing([request for request in made if request[-1] in (401, 403)], "refused")
            # The test asks for reviews in the account's name.
            used = {request[:-1] for request in made if request[0] != "authorization.k8s.io"}
            # By name a pod alone, and only where the watch may be behind.
            by_name = {right for right in GRANTED if right[-1] == "get"}
            nothing((used ^ GRANTED) - by_name, "too many or too few")

    def ends(self):
        last = self.running[0]
        with self.fact("deleted pods leave no link, no port, no record"):
            self.pods.delete([pod for pod in self.pods.living.values() if pod is not last])
            wait_for_none(lambda: self.pods.remains() ^ {last.plan.tap, f"record {self.pods.sandbox(last)}"}, "left or gone")
            self.pods.check(last)
        with self.fact("nor does one that is deleted when the DaemonSet is gone"):
            with Process(self.agent()[1]) as agent:
                self.api.request("DELETE", f"{DAEMON_SETS}/kuryr-daemon")
                agent.wait_for_end()
            self.pods.delete([last])
            wait_for_none(self.pods.remains, "left")

    def keep_logs(self, folder):
        os.makedirs(folder, exist_ok=True)
        for log in (*LOGS.glob("*.log"), *WORK.glob("*.log"), *Path("/var/log/pods").glob("*/*/*.log")):
            shutil.copy(log, Path(folder, "-".join(log.parts[4:])))


def command_of(process):
    try:
        return (process / "cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def is_true(item, condition):
    return any(each["type"] == condition and each["status"] == "True" for each in item["status"].get("conditions", ()))


def not_ready(nodes):
    """Why one is not, or ""."""
    return next((condition["message"] or "it is not" for each in nodes.values()
                 for condition in each["status"].get("conditions", ())
                 if condition["type"] == "Ready" and condition["status"] != "True"), "")


def is_ready(sets):
    (daemon_set,) = sets.values()
    status = daemon_set["status"]
    return (status.get("observedGeneration") == daemon_set["metadata"]["generation"]
            and status.get("numberReady") == status.get("updatedNumberScheduled") == status["desiredNumberScheduled"] == 1)
