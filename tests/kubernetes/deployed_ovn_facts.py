"""Facts of OVN's databases by etc/kubernetes: members start, are killed, lose their data and start anew, while pods come."""
import shutil

from harness.container_image import Layer
from harness.expectation import expect, expect_same, nothing
from harness.namespaces import WORK
from harness.process import run
from harness.traffic import Traffic
from harness.transcript import Transcript
from kubernetes.deployed_ovn import CENTRAL, KEYS, PAGE, PODS, SCHEMAS, DeployedOvn
from kubernetes.network_pods import PORT, NetworkPods, ask, until_answered
from kubernetes.ovn_facts import wait_until
from kubernetes.page_steps import PagePods, wait_until_undone
from ovn.central import SOUTHBOUND_PORT
from ovn.release import release_of

DATABASES = "/var/lib/kuryr-ovn"


class DeployedOvnFacts:
    def __init__(self, release, options):
        self.make = lambda facts: DeployedOvn(release, options, facts)
        self.upgrades = options.upgrades
        self.cluster = None

    def state(self, facts):
        self.fact = facts.fact
        with self.fact("three nodes on OVN become ready by docs/quickstart-ovn.md, and the databases' members begin", basis=True):
            self.cluster = self.make(facts)
            self.cluster.start()
            self.cluster.wait_for_members()
            self.wait_for_servers()
        self.first, self.second, _ = self.cluster.nodes
        self.pods = NetworkPods(self.cluster)
        pods = PagePods(str(PAGE), facts)
        pods.start()
        pods.close_and_open()
        with self.fact("pods of two nodes reach each other", basis=True):
            made = self.pods.make({"one": (self.first, None), "away": (self.second, None)})
            self.one, self.away = made["one"], made["away"]
            self.new_pod_is_reached()
        with self.fact("pods of both nodes reach a Service"):
            service = self.pods.serve(self.one, next(iter(self.cluster.families)))
            for pod in (self.one, self.away):
                until_answered(pod.netns, service["clusterIP"], 80, "one")
        with self.fact("a node's key opens the nodes' port alone, and there changes the rows of its own chassis alone"):
            expect_same([SOUTHBOUND_PORT], self.cluster.ports_of(self.first), "by a node's key")
            self.attack()
        for database in SCHEMAS:
            with self.fact(f"the leader of {database} was killed: kuryr-controller goes on, and a new pod is reached"):
                self.cluster.execute(self.cluster.leader(database), database, "bash", "-c", "kill -KILL -1")
                self.new_pod_is_reached()
                self.cluster.wait_for_members()
        with self.fact("a member whose data are lost joins anew, and its former server leaves"):
            self.lose_data("ovn-central-0")
            self.wait_for_servers()
            self.new_pod_is_reached()
        with self.fact("all members end at once: they go on with their data, and a new pod is reached"):
            before = self.servers()
            self.delete(*self.cluster.members())
            expect_same(before, self.servers(), "servers")
            self.new_pod_is_reached()
        with self.fact("docs/ovn.md's commands replace all keys: former ones open nothing, and a new pod is reached"):
            self.replace_keys()
        with self.fact("docs/upgrade.md's commands roll OVN's pods as for an upgrade: no datagram is lost, and a new pod is reached"):
            self.roll()
        for suite in self.upgrades:
            with self.fact(f"docs/upgrade.md's commands upgrade OVN to Debian {suite}'s: no datagram is lost, and a new pod is reached"):
                self.upgrade(release_of(suite, {}))
        with self.fact("all data are lost: docs/ovn-operations.md's commands start the databases anew, and both pods are reached"):
            self.lose_all_data()
            self.new_pod_is_reached()
        with self.fact("docs/quickstart-ovn.md: its last commands leave neither objects of the API nor anything on the nodes"):
            self.undo()

    def attack(self):
        """By who is root on the first node."""
        own, other = (self.cluster.chassis_of(node) for node in (self.first, self.second))
        expect_same("", self.cluster.change_southbound(self.first, "set", "chassis", own, "external_ids:attack=no"), "of its own chassis")
        for words in (("chassis-del", other), ("set", "chassis", other, "other_config:attack=yes"), ("set-connection", "pssl:1"),
                      ("chassis-add", "another", "geneve", "192.0.2.9")):
            said = self.cluster.change_southbound(self.first, *words)
            expect("prohibit" in said, f"{words}: {said}")

    def replace_keys(self):
        before, former = self.cluster.members(), WORK / "former-key"
        shutil.copytree(self.first.host.path(KEYS), former)
        for command in Transcript("Keys", "docs/ovn.md").take_commands():
            run(command)
        self.cluster.wait_for_members({pod["metadata"]["uid"] for pod in before.values()})
        self.new_pod_is_reached()
        expect_same([SOUTHBOUND_PORT], self.cluster.ports_of(self.first), "by the node's key")
        expect_same([], self.cluster.ports_of(self.first, former), "by its former key")

    def roll(self):
        """While the pods of two nodes send to each other."""
        before = self.cluster.members()
        traffic = Traffic([(pod.netns, next(iter(pod.addresses.values()))) for pod in (self.one, self.away)])
        try:
            expect(traffic.wait_until_all_flow(), "pods do not reach each other")
            for command in Transcript("Upgrade OVN", "docs/upgrade.md").take_commands():
                run(command)
            self.cluster.wait_for_members({pod["metadata"]["uid"] for pod in before.values()})
            expect(traffic.wait_until_all_flow(), "pods do not reach each other any more")
            nothing((f"of flow {flow}" for flow, _ in traffic.lost()), "datagrams were lost")
        finally:
            traffic.stop()
        self.new_pod_is_reached()

    def upgrade(self, release):
        self.cluster.load_images(Layer(release.root, release.enter()))
        self.roll()
        wanted = {database: release.schema_version(database) for database in SCHEMAS}
        for pod in self.cluster.members().values():
            expect_same(wanted, {database: self.cluster.schema_version(pod, database) for database in SCHEMAS}, "schemas")

    def lose_all_data(self):
        before = self.cluster.members()
        for pod in before.values():
            shutil.rmtree(self.cluster.node_of(pod).host.path(DATABASES))
        for command in Transcript("Start the databases anew", "docs/ovn-operations.md").take_commands():
            run(command)
        self.cluster.wait_for_members({pod["metadata"]["uid"] for pod in before.values()})

    def undo(self):
        run("kubectl --namespace kube-system scale --replicas=0 deployment/cluster-dns")
        run("kubectl delete pods --all --grace-period=1")
        run("kubectl --namespace kube-system wait pods --selector k8s-app=kube-dns --for=delete --timeout=60s", check=False)
        self.cluster.undo()
        wait_until_undone(self.cluster.hosts)

    def new_pod_is_reached(self):
        made = self.pods.make({"new": (self.second, None)})["new"]
        until_answered(self.one.netns, next(iter(made.addresses.values())), PORT, "new")
        expect_same("one", ask(made.netns, next(iter(self.one.addresses.values()))), "from the new pod")
        self.cluster.api.request("DELETE", "/api/v1/namespaces/default/pods/new")
        self.cluster.api.wait("it is gone", lambda pods: ("default", "new") not in pods, "/api/v1/namespaces/default/pods")

    def lose_data(self, name):
        pod = self.cluster.members()[name]
        shutil.rmtree(self.cluster.node_of(pod).host.path(DATABASES))
        self.delete(name)

    def delete(self, *names):
        """Deletes pods of the StatefulSet, whose successors are ready when it returns."""
        members = self.cluster.members()
        for name in names:
            self.cluster.api.request("DELETE", f"{PODS}/{name}")
        self.cluster.wait_for_members({members[name]["metadata"]["uid"] for name in names})

    def servers(self):
        """{database: its servers}, as each member tells."""
        members = self.cluster.members().values()
        return {database: [self.cluster.servers(pod, database) for pod in members] for database in SCHEMAS}

    def wait_for_servers(self):
        """Until each member knows as many servers as there are members, all of which are in ConfigMap ovn-central-members."""
        path = "/api/v1/namespaces/kube-system/configmaps/ovn-central-members"
        count = len(self.cluster.names)

        def settled():
            keys = set(self.cluster.api.get(path)["data"])
            listed = {f"{database}-{server}" for database, told in self.servers().items() for each in told for server in each}
            return len(listed) == len(keys) == len(SCHEMAS) * count and listed == {key[:len("nb-") + 4] for key in keys}
        wait_until(f"{CENTRAL} has {count} servers of each database", settled, self.servers)
