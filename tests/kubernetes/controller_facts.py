"""Facts of kuryr-controller on a cluster where it alone plans pods."""
import errno
import os
import time
from pathlib import Path

from harness.expectation import expect_same, nothing
from harness.kube_api import PODS
from harness.pod import Plan
from kubernetes import audit
from kubernetes.controllers import APP, SYSTEM_PODS, Controllers, ask
from kubernetes.deployment import Deployment
from kubernetes.node_pods import SPEC
from kubernetes.other_producer import OtherProducer
from kubernetes.pod_story import Stories

# Seconds, of pools that do not say otherwise.
REST = 30
SMALL = ("10.245.0.2", "10.245.0.3")
SMALL_POOL = f"""[pool:small]
cidr = 10.245.0.0/29
ranges = {'-'.join(SMALL)}
namespaces = *
pods = pool=small
rest = 1
"""
IN_SMALL = {"labels": {"pool": "small"}}
FINALIZER = "kuryr.openstack.org/pod-finalizer"
ADMINS_POLICIES = [("policy.networking.k8s.io", plural) for plural in (
    "clusternetworkpolicies", "adminnetworkpolicies", "baselineadminnetworkpolicies")]
# (group, resource, verb) as rbac-controller.yaml has them, and some that it does not grant.
GRANTED = {*(("", kind, verb) for kind in ("pods", "nodes") for verb in ("get", "list", "watch", "patch")), ("", "events", "create"),
           *(("openstack.org", "kuryrports", verb) for verb in ("list", "watch", "create", "patch", "delete")),
           ("openstack.org", "kuryrports/status", "patch"),
           ("k8s.cni.cncf.io", "ipamclaims/status", "patch"),
           *(("networking.k8s.io", kind, verb) for kind in ("networkpolicies", "servicecidrs") for verb in ("list", "watch")),
           *(("k8s.cni.cncf.io", kind, verb) for kind in ("network-attachment-definitions", "ipamclaims", "multi-networkpolicies")
             for verb in ("list", "watch")),
           *((*kind, verb) for kind in ADMINS_POLICIES for verb in ("list", "watch"))}
NOT_GRANTED = {("", "pods", "delete"), ("", "pods", "create"), ("", "secrets", "get"), ("", "configmaps", "get"),
               ("", "nodes", "delete"), ("", "events", "list"), ("coordination.k8s.io", "leases", "get")}
LEASE_RIGHTS = {("coordination.k8s.io", "leases", verb) for verb in ("get", "create", "patch")}
# Asked for only where there is a reason; namespaces by kuryr-controller policy, and with a policy where a pool is flat.
SELDOM = {("", "namespaces", "list"), ("", "namespaces", "watch"), ("", "pods", "get"), ("", "nodes", "get"),
          ("openstack.org", "kuryrports", "patch"), ("openstack.org", "kuryrports/status", "patch"),
          ("k8s.cni.cncf.io", "network-attachment-definitions", "watch"),
          ("k8s.cni.cncf.io", "ipamclaims", "watch"), ("k8s.cni.cncf.io", "ipamclaims/status", "patch"),
          ("k8s.cni.cncf.io", "multi-networkpolicies", "watch"), ("networking.k8s.io", "servicecidrs", "watch"),
          *((*kind, "watch") for kind in ADMINS_POLICIES)}
MEANWHILE = 4
REPLICAS = 3


class ControllerFacts:
    def __init__(self, checks):
        """checks: KubeletFacts"""
        self.checks, self.fact, self.api, self.pods = checks, checks.fact, checks.api, checks.pods
        self.controllers = Controllers(self.api)

    def stories(self):
        return Stories(self.api.audit_log, self.checks.agent_log())

    # ---- the facts
    def install(self):
        self.checks.quick_start.apply_all()
        with self.fact("both controllers become ready by their probes, on the one node, and one leads", basis=True):
            self.controllers.wait_until_available(2)
            self.controllers.wait_for_other_leader(None)
            restarts = {name: pod["status"]["containerStatuses"][0]["restartCount"]
                        for name, pod in self.controllers.pods().items()}
            assert list(restarts.values()) == [0, 0], restarts
        with self.fact("/alive, /ready and /metrics answer at the node's 127.0.0.1"):
            assert (ask("/alive"), ask("/ready")) == ("ok\n", "ok\n"), (ask("/alive"), ask("/ready"))
            assert "kuryr_controller_leader " in ask("/metrics"), ask("/metrics")
        with self.fact("its PodDisruptionBudget lets one of them go"):
            self.api.wait("one may go", lambda found: found["kube-system", APP]["status"].get("disruptionsAllowed") == 1,
                          f"/apis/policy/{self.checks.release.young_groups}/namespaces/kube-system/poddisruptionbudgets")

    def rights(self):
        pid = self.controllers.processes()[self.controllers.leader()]
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        with self.fact("it is nobody, has no capability, gets none, and its root file system is read-only"):
            assert set(status["Uid"].split()) == {"65534"}, status["Uid"]
            found = {name: status[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")}
            assert set(found.values()) == {f"{0:016x}"} and status["NoNewPrivs"] == "1", (found, status["NoNewPrivs"])
            try:
                Path(f"/proc/{pid}/root/usr/written").touch()
                raise AssertionError("it is not")
            except OSError as error:
                assert error.errno == errno.EROFS, error
        with self.fact("its service account may what rbac-controller.yaml says, and no more"):
            self.checks.check_rights(pid, GRANTED, NOT_GRANTED)

    def small_pool(self):
        with self.fact("an exhausted pool is an Event that names it, and a deleted pod's address is another's then"):
            held = self.pods.make(len(SMALL), IN_SMALL)
            self.pods.wait_until_run(held)
            assert {pod.plan.address for pod in held} == set(SMALL), [pod.plan.address for pod in held]
            (late,) = self.pods.make(1, IN_SMALL)
            self.checks.wait_for_event(late, "KuryrNoFreeAddress", "small")
            self.pods.delete(held[:1])
            self.pods.wait_until_run([late])
            self.pods.check(late)
            assert late.plan.address == held[0].plan.address, late.plan.address
            self.pods.delete([held[1], late])
            self.pods.wait_until_gone([*held, late])
        with self.fact("a completed pod gives its address back while it stays; the rest of addresses is longer than its DEL takes"):
            (done,) = self.pods.make(1, IN_SMALL, restartPolicy="Never", containers=[
                {**SPEC["containers"][0], "command": ["/bin/sleep", "2"]}])
            self.pods.wait_until_planned(done)
            self.api.wait("it has completed and has no finalizer", lambda found: (
                found["default", done.name]["status"]["phase"] == "Succeeded"
                and FINALIZER not in found["default", done.name]["metadata"].get("finalizers", ())), PODS)
            next_ones = self.pods.make(len(SMALL), IN_SMALL)
            self.pods.wait_until_run(next_ones)
            assert done.plan.address in {pod.plan.address for pod in next_ones}, done.plan.address
            story = self.end_of(done)
            assert story["DEL answered"] < story["released"] + REST, story
            self.pods.delete([done, *next_ones])
            self.pods.wait_until_gone([done, *next_ones])

    def deletions(self):
        for way, query in {"": "", " in a hurry (gracePeriodSeconds=0)": "?gracePeriodSeconds=0"}.items():
            with self.fact(f"a pod deleted{way}: after its DEL its address is released, its KuryrPort and finalizer are gone"):
                (pod,) = self.pods.make(1)
                self.pods.wait_until_run([pod])
                metadata = self.pods.get(pod)["metadata"]
                assert FINALIZER in metadata["finalizers"], metadata
                self.pods.delete([pod], query)
                self.pods.wait_until_gone([pod])
                story = self.end_of(pod)
                assert story["DEL answered"] < story["released"], story

    def end_of(self, pod):
        self.checks.wait_until_unplugged([pod])
        story = self.stories().end(pod)
        print("        " + ", ".join(f"{step} {seconds:.2f} s" for step, seconds in story.items()), flush=True)
        return story

    def deployment(self):
        with self.fact(f"a Deployment's {REPLICAS} pods run, others with other addresses when they are deleted, none at its end"):
            web = Deployment(self.pods, "web", REPLICAS)
            web.create()
            first = web.wait_until_run()
            web.delete_pods()
            second = web.wait_until_run({pod.name for pod in first})
            assert len({pod.plan.address for pod in first + second}) == 2 * REPLICAS, (first, second)
            web.delete()
            web.wait_until_gone()

    def others(self):
        """The pods that run then."""
        other, running = OtherProducer(self.pods), []
        with self.fact("another producer's pod, by a KuryrPort that is not ACTIVE, says so by an Event and starts when it is;"
                       " kuryr-controller leaves it alone"):
            pod = other.with_port()
            running.append(pod)
            self.checks.wait_for_event(pod, "CNIWaitingForActiveVIFs")
            other.activate(pod)
            self.pods.wait_until_run([pod])
            self.pods.check(pod)
            self.expect_untouched(pod)
        with self.fact("a plan that its user has written on a pod counts for nothing: it has what kuryr-controller planned"):
            forged = Plan(200)
            (pod,) = self.pods.make(1, {"annotations": forged.annotation()})
            running.append(pod)
            self.pods.wait_until_run([pod])
            self.pods.check(pod)
            assert forged.address not in pod.plan.addresses, pod.plan.addresses
        return running

    def expect_untouched(self, pod):
        """A KuryrPort may be heard of after its pod: the finalizer that the pod has got by then is taken back."""
        self.api.wait("it has no finalizer", lambda found: "finalizers" not in found["default", pod.name]["metadata"], PODS)
        changes = [each for each in audit.read(self.api.audit_log) if each.pod == ("default", pod.name)
                   and each.user == audit.CONTROLLER and each.verb not in ("get", "list") and each.code < 300]
        finalizers = {"uid", "resourceVersion", "finalizers"}
        nothing([each for each in changes if each.right != ("", "pods", "patch") or each.body["metadata"].keys() - finalizers],
                "changes of kuryr-controller's")

    def takeovers(self):
        running = self.pods.make(2)
        self.pods.wait_until_run(running)
        pictures = {pod.name: self.pods.picture(pod) for pod in running}
        ways = {"the leader's container is killed": lambda pod: os.kill(self.controllers.processes()[pod], 9),
                "the leader's pod is deleted": lambda pod: self.api.request("DELETE", f"{SYSTEM_PODS}/{pod}")}
        for way, act in ways.items():
            with self.fact(f"{way}: another one leads, and plans the pods that come"):
                before, began = self.controllers.holder(), time.monotonic()
                act(self.controllers.leader())
                come = self.pods.make(MEANWHILE)
                self.controllers.wait_for_other_leader(before)
                print(f"        it took {time.monotonic() - began:.1f} s until another one led", flush=True)
                self.pods.wait_until_run(come)
                for pod in come:
                    self.pods.check(pod)
                self.pods.delete(come)
                self.controllers.wait_until_available(2)
        with self.fact("a pod that comes while there is no controller waits, and runs when there is one"):
            self.controllers.scale(0)
            (late,) = self.pods.make(1)
            self.pods.wait_until_begun(late)
            self.controllers.scale(2)
            self.pods.wait_until_run([late])
            self.pods.check(late)
        with self.fact("the pods that ran before are as they were"):
            for pod in running:
                expect_same(pictures[pod.name], self.pods.picture(pod), pod.name)
            expected = {pod.plan.address for pod in self.pods.living.values()}
            assert len(expected) == len(self.pods.living), "one address twice"
        return [*running, late]

    def requests(self):
        with self.fact("the API server refused kuryr-controller nothing, and it asked for nothing that it need not"):
            made = [each for each in audit.read(self.api.audit_log) if each.user == audit.CONTROLLER]
            nothing([each for each in made if each.code in (401, 403)], "refused")
            used = {each.right for each in made if each.group != "authorization.k8s.io"}
            nothing((used ^ (GRANTED | LEASE_RIGHTS)) - SELDOM, "too many or too few")
        with self.fact("its log has no warning and no error, but of what the node has once and what the small pool lacked"):
            expected = ("level=info", "KuryrNoFreeAddress", "Address already in use")
            nothing([line for line in self.controllers.log().splitlines() if not any(map(line.count, expected))], "lines")
