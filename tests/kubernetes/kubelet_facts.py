"""Facts of etc/kubernetes/ on a node with a kubelet."""
import errno
import json
import os
import stat
from ipaddress import ip_address, ip_network
from pathlib import Path

from harness import namespaces
from harness.expectation import expect_same, nothing, wait_for_none
from harness.kube_api import PODS
from harness.kuryr_daemon import CAPABILITIES, check_capabilities
from harness.process import run
from harness.traffic import ping
from harness.transcript import Transcript
from kubernetes import audit, metrics_page, podman
from kubernetes.cluster import Cluster
from kubernetes.comparison import Comparison
from kubernetes.controller_facts import ADMINS_POLICIES, SMALL_POOL, ControllerFacts
from kubernetes.controllers import SYSTEM_PODS, command_of, is_true, of_app
from kubernetes.device_facts import DeviceFacts
from kubernetes.hand_over import HandOver
from kubernetes.hot_plug import HotPlug
from kubernetes.node_pods import NodePods
from kubernetes.pod_story import Stories, medians
from kubernetes.pod_traffic import check_tcp, check_udp
from kubernetes.quick_start import QuickStart
from kubernetes.recreation import Recreation
from kubernetes.replacement import MEANWHILE, Process, Replacement

AGENT = ["/usr/local/bin/kuryr-daemon"]
DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"
EVENTS = "/api/v1/namespaces/default/events"
ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TOKEN_FILE = "run/secrets/kubernetes.io/serviceaccount/token"
# Debian's containerd looks for plugins in the second folder.
INSTALLED = {"/opt/cni/bin/kuryr-cni": 0o755, "/usr/lib/cni/kuryr-cni": 0o755, "/etc/kuryr/kuryr.conf": 0o600,
             "/etc/cni/net.d/10-kuryr.conflist": 0o644}
BUILT = "build/release/bin/kuryr-cni"
# (group, resource, verb): as docs/install.md has them, and some that it does not grant.
GRANTED = {*((group, resource, verb) for group, resource in (("", "pods"), ("", "nodes"), ("openstack.org", "kuryrports"))
             for verb in ("get", "list", "watch")), ("", "events", "create"),
           *((group, resource, verb) for group, resource in (
               ("", "namespaces"), ("networking.k8s.io", "networkpolicies"), *ADMINS_POLICIES) for verb in ("list", "watch"))}
# Namespaces where there is a policy; policies of admins where the cluster has their definitions.
SELDOM = {("", "namespaces", "list"), ("", "namespaces", "watch"), *((*kind, "watch") for kind in ADMINS_POLICIES)}
NOT_GRANTED = {("", "pods", "patch"), ("", "pods", "delete"), ("", "secrets", "get"), ("", "configmaps", "get"),
               ("", "nodes", "patch"), ("", "events", "list"), ("openstack.org", "kuryrports", "patch")}
AT_ONCE = 20
POOL = ip_network("10.244.0.0/16")


class KubeletFacts:
    def __init__(self, release):
        self.release = release

    def state(self, facts):
        self.start(facts)
        self.rights()
        self.controller.rights()
        self.network()
        self.controller.small_pool()
        self.controller.deletions()
        self.controller.deployment()
        self.running += self.controller.others()
        self.running += self.controller.takeovers()
        self.replacements()
        self.controller.requests()
        self.status()
        DeviceFacts(self).state()
        HotPlug(self).state()
        self.ends()
        HandOver(self).state()
        self.quick_start.undo()

    def recreate(self, facts, rounds):
        """States facts of recreated pods, in place of state()'s."""
        self.start(facts)
        Recreation(self).go(rounds)
        Comparison(self).go()

    def devices(self, facts, rounds):
        """States facts of devices, in place of state()'s."""
        self.start(facts)
        DeviceFacts(self).state(rounds)

    def start(self, facts):
        """The cluster, with agent and controllers."""
        self.facts, self.fact = facts, facts.fact
        with self.fact("the image is built by its Containerfile, and loaded, by docs/quickstart-local.md's commands", basis=True):
            self.cluster = Cluster(self.release)
            busybox = namespaces.WORK / "busybox.tar"
            run("tests/runtimes/image", busybox)
            self.cluster.node.containerd.import_images(busybox)
            podman.set_up()
            self.quick_start = QuickStart(self)
            self.quick_start.load_image()
        with self.fact("kube-apiserver, controllers, scheduler, kubelet, containerd and Open vSwitch run", basis=True):
            self.cluster.start_kubernetes()
            self.api = self.cluster.api
        self.pods = NodePods(self.cluster)
        self.controller = ControllerFacts(self)
        self.install()
        self.controller.install()
        self.quick_start.two_pods()
        with self.fact("a pool of the operator's own, which docs/install.md's command stores, is there after a restart", basis=True):
            self.quick_start.store_options(SMALL_POOL)
            self.controller.controllers.wait_until_available(2)

    # ---- the agent
    def agent(self):
        """(its pod, the process of its container)"""
        (pod,) = [pod for pod in of_app(self.api.get(SYSTEM_PODS)["items"], "kuryr-daemon")
                  if "deletionTimestamp" not in pod["metadata"]]
        # Probes execute the same program, with arguments.
        (pid,) = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if command_of(pid) == AGENT]
        return pod, pid

    def agent_log(self):
        logs = sorted(Path("/var/log/pods").glob("kube-system_kuryr-daemon-*/kuryr-daemon/*.log"), key=os.path.getctime)
        return "".join(log.read_text() for log in logs)

    def wait_until_ready(self):
        # The pod's state tells more of a failure.
        self.api.wait("its pod is ready", lambda pods: any(
            is_true(pod, "Ready") for pod in of_app(pods.values(), "kuryr-daemon")), SYSTEM_PODS)
        self.api.wait("it is ready", is_ready, DAEMON_SETS)

    def ask_agent(self, *arguments):
        """The answer of the agent's own program, executed in its container."""
        (container,) = self.agent()[0]["status"]["containerStatuses"]
        name = container["containerID"].removeprefix("containerd://")
        code, said, errors = self.cluster.node.cri.exec_sync(name, [*AGENT, *arguments])
        assert code == 0, (code, said[-2000:], errors)
        return said

    # ---- the facts
    def install(self):
        with self.fact("a node without a CNI configuration is not ready"):
            self.api.wait("no CNI configuration", lambda nodes: "cni plugin not initialized" in not_ready(nodes),
                          "/api/v1/nodes")
        with self.fact("the API server takes the manifests of kuryr-daemon, by docs/install.md's command", basis=True):
            self.quick_start.apply_agent()
        with self.fact("the DaemonSet becomes ready by its probes", basis=True):
            self.wait_until_ready()
            (container,) = self.agent()[0]["status"]["containerStatuses"]
            assert container["restartCount"] == 0 and container["started"], container
        with self.fact("kuryr-cni install put kuryr-cni, kuryr.conf and the CNI configuration on the node, the latter last"):
            found = {path: os.stat(path) for path in INSTALLED}
            modes = {path: stat.S_IMODE(each.st_mode) for path, each in found.items()}
            assert modes == INSTALLED, modes
            order = sorted(found, key=lambda path: found[path].st_ctime_ns)
            assert order == list(INSTALLED), order
            for built, path in zip((BUILT, BUILT, None, "etc/10-kuryr.conflist"), INSTALLED):
                assert not built or Path(built).read_bytes() == Path(path).read_bytes(), f"{path} is not {built}"
            nothing([file for path in INSTALLED for file in Path(path).parent.glob(".*")], "left by it")
            assert stat.S_IMODE(os.stat("/run/kuryr").st_mode) == 0o700, "/run/kuryr is open to others"
        with self.fact("then the node is ready"):
            self.api.wait("it is ready", lambda nodes: not not_ready(nodes) and not any(
                each["spec"].get("taints") for each in nodes.values()), "/api/v1/nodes")

    def rights(self):
        pid = self.agent()[1]
        with self.fact(f"the agent's capabilities are {', '.join(CAPABILITIES)} and it gets no others"):
            check_capabilities(pid)
        root = Path(f"/proc/{pid}/root")
        with self.fact("its root file system is read-only"):
            try:
                (root / "usr/written").touch()
                raise AssertionError("it is not")
            except OSError as error:
                assert error.errno == errno.EROFS, error
        with self.fact("its service account may what docs/install.md says, and no more"):
            self.check_rights(pid, GRANTED, NOT_GRANTED)

    def check_rights(self, pid, granted, not_granted):
        """Checks the rights, in namespace default, of the account of the process' container."""
        token = Path(f"/proc/{pid}/root/{TOKEN_FILE}").read_text()
        nothing({each for each in granted | not_granted if self.may(token, *each)} ^ granted, "too many or too few")

    def may(self, token, group, resource, verb):
        name, _, subresource = resource.partition("/")
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {
            "resourceAttributes": {"group": group, "resource": name, "subresource": subresource, "verb": verb,
                                   "namespace": "default"}}}
        return json.loads(self.api.request("POST", ACCESS, review, token=token))["status"]["allowed"]

    def network(self):
        with self.fact(f"{AT_ONCE} pods at once run, with addresses of the pool in their namespaces and ports in OVSDB",
                       basis=True):
            self.running = self.pods.make(AT_ONCE)
            self.pods.wait_until_run(self.running)
            for pod in self.running:
                self.pods.check(pod)
                assert ip_address(pod.plan.address) in POOL, pod.plan.address
            print(f"        seconds from creation, medians: {self.times(self.running)}", flush=True)
        with self.fact("each reaches the next, by ICMP, TCP and UDP"):
            netns = {pod.name: self.pods.netns(pod) for pod in self.running}
            for pod, other in zip(self.running, self.running[1:] + self.running[:1]):
                ping(netns[pod.name], other.plan.address)
                for check in (check_tcp, check_udp):
                    check(netns[pod.name], netns[other.name], other.plan.address)
        with self.fact("their calls were the agent's"):
            said = self.agent_log()
            containers = [self.pods.sandbox(pod) for pod in self.running]
            nothing([each for each in containers if f"command=ADD container={each}" not in said], "not in its log")

    def times(self, pods):
        stories = Stories(self.api.audit_log, self.agent_log())
        return medians([stories.begin(pod) for pod in pods])

    def wait_for_event(self, pod, reason, text=""):
        """The agent's, or a controller's."""
        self.api.wait(f"the Event {reason}", lambda events: any(
            (each["involvedObject"].get("uid"), each["reason"], each["source"].get("host")) == (pod.uid, reason, self.cluster.node.name)
            and text in each["message"] for each in events.values()), EVENTS)

    def wait_until_unplugged(self, pods):
        wait_for_none(lambda: self.pods.remains() & {pod.plan.tap for pod in pods if pod.plan}, "left")

    def replacements(self):
        self.pictures = {pod.name: self.pods.picture(pod) for pod in self.running}
        ways = {"its pod is deleted": self.delete_agent, "a new template is rolled out": self.roll_out,
                "its process is killed": lambda pod, pid: os.kill(pid, 9)}
        leaving = self.pods.make(MEANWHILE)
        self.pods.wait_until_run(leaving)
        for way, act in ways.items():
            with self.fact(f"{way} while pods come and go: the node stays ready, none fails, nothing is left of those that go"):
                leaving = Replacement(self, act, leaving).go()
            with self.fact(f"{way}: the pods that ran before are as they were"):
                for pod in self.running:
                    expect_same(self.pictures[pod.name], self.pods.picture(pod), pod.name)

    def delete_agent(self, pod, _):
        self.api.request("DELETE", f"{SYSTEM_PODS}/{pod['metadata']['name']}")

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
        with self.fact("its metrics and kuryr-controller's have the names, types and labels of docs/metrics.md"):
            metrics_page.check()
        with self.fact("docs/operations.md: its commands write whole reports, with plans and pods"):
            self.report()
        with self.fact("its log has no warning and no error"):
            nothing([line for line in self.agent_log().splitlines() if "level=info" not in line], "lines")
        with self.fact("the API server refused the agents nothing, and they asked for nothing else"):
            made = [each for each in audit.read(self.api.audit_log) if each.user == audit.AGENT]
            nothing([each for each in made if each.code in (401, 403)], "refused")
            # The test asks for reviews in the account's name.
            used = {each.right for each in made if each.group != "authorization.k8s.io"}
            # By name only where the watch may be behind.
            by_name = {right for right in GRANTED if right[-1] == "get"}
            nothing((used ^ GRANTED) - by_name - SELDOM, "too many or too few")

    def report(self):
        page = Transcript("Report a bug", "docs/operations.md", {"POD": self.agent()[0]["metadata"]["name"]})
        for command in page.take_commands():
            run("bash", "-euc", command, cwd=namespaces.WORK)
        page.finish()
        controller, node = (json.loads((namespaces.WORK / f"{name}.json").read_text()) for name in ("controller", "node"))
        counts = controller["status"]["counts"]
        assert counts["planned"] + counts["others"] == len(self.pods.living), counts
        assert set(node["status"]["pods"]) >= {f"default/{name}" for name in self.pods.living}, node["status"]["pods"].keys()
        for report in (controller, node):
            assert report["alive"] == ["ok"] and report["ready"] == ["ok"] and report["metrics"] and report["kuryr_conf"], report

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
            # The kubelet says so some seconds later, and kuryr-controller has to hear of it before it is gone itself.
            wait_for_none(self.terminating, "still terminating at the API server")

    def terminating(self):
        return [pod["metadata"]["name"] for pod in self.api.get(PODS)["items"] if "deletionTimestamp" in pod["metadata"]]


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
