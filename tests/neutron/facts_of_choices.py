"""Annotations of pods and namespaces choose security groups that kuryr.conf lists, and subnets that it names."""
import copy
import dataclasses

from harness.expectation import expect, expect_same
from neutron import facts_of_groups
from neutron.namespaces import STORAGE_USERS
from neutron.network import WEB_PORT
from ovn import exchange

GROUPS = "kuryr.openstack.org/security-groups"
NETWORKS = "k8s.v1.cni.cncf.io/networks"
REFUSED = "KuryrPlanRefused"
FREE, RESTRICTED = "free", "restricted"


def check(facts, planning, spaces):
    choose_groups(facts, planning, spaces)
    restrict_groups(facts, planning, spaces)
    have_named_subnets(facts, planning, spaces)
    name_subnets(facts, planning, spaces)


def refusal_of(planning, name, namespace, annotations):
    """A pod's, which has no port then; the pod is gone when this returns."""
    uid = planning.create(name, namespace=namespace, annotations=annotations)
    message = planning.wait_for("its Event", lambda: planning.events_of(name, namespace).get(REFUSED))
    expect_same([], planning.ports_of(uid), "ports of a pod that is refused")
    planning.delete(name, namespace)
    return message


def choose_groups(facts, planning, spaces):
    with facts.fact("groups: a listed group that a pod names is on its port, alone, and holds"):
        spaces.create(FREE)
        client, port, _ = planning.run_pod("usual", namespace=FREE)
        expect_same([planning.network.open], port["security_groups"], "groups without an annotation")
        server, port, _ = planning.run_pod("named", namespace=FREE, annotations={GROUPS: spaces.listed})
        expect_same([spaces.listed], port["security_groups"], "groups that the pod names")
        exchange.tcp(client, server, 4, WEB_PORT)
        facts_of_groups.drops_others(client, server, 4)
        spaces.end_pods(client, server)
    with facts.fact("groups: one that kuryr.conf does not list is refused, and an Event names it"):
        message = refusal_of(planning, "unlisted", FREE, {GROUPS: f"{spaces.listed},{spaces.unlisted}"})
        expect(spaces.unlisted in message and "additional_security_groups" in message, message)


def restrict_groups(facts, planning, spaces):
    with facts.fact("groups: a namespace's annotation holds for its pods, and they name no other group"):
        spaces.create(RESTRICTED, {GROUPS: spaces.listed})
        made, port, _ = planning.run_pod("inside", namespace=RESTRICTED)
        expect_same([spaces.listed], port["security_groups"], "groups")
        message = refusal_of(planning, "outside", RESTRICTED, {GROUPS: planning.network.open})
        expect("the annotation of its namespace does not name it" in message, message)
        spaces.end_pods(made)


def have_named_subnets(facts, planning, spaces):
    with facts.fact("pools by name: pods of a namespace that one lists are in its subnet, and reach each other"):
        spaces.create(STORAGE_USERS)
        all_made = []
        for name in ("stored-a", "stored-b"):
            made, port, _ = planning.run_pod(name, namespace=STORAGE_USERS)
            expect_same([spaces.subnets["storage"]], [ip["subnet_id"] for ip in port["fixed_ips"]], "subnets")
            all_made.append(made)
        exchange.tcp(*all_made, 4)
        expect_same([], spaces.networks(STORAGE_USERS), "networks of its own")
        spaces.end_pods(*all_made)


def name_subnets(facts, planning, spaces):
    with facts.fact("pools by name: a definition names one for all, and pods have an interface there beside eth0"):
        spaces.define(FREE, "shared")
        all_made = []
        for name in ("sharing-a", "sharing-b"):
            made, _, _ = planning.run_pod(name, namespace=FREE, annotations={NETWORKS: "shared@net1"})
            port, = [each for each in planning.ports_of(made.pod.uid) if each["name"].endswith("/net1")]
            expect_same([spaces.subnets["shared"]], [ip["subnet_id"] for ip in port["fixed_ips"]], "subnets")
            expect(made.link("net1")["address"] == port["mac_address"], "net1 has another MAC than its port")
            all_made.append(with_plan(made, planning.plan_of(port)))
        exchange.tcp(*all_made, 4)
        spaces.end_pods(*all_made)
    with facts.fact("hot plug: an interface that a running pod's annotation names no more loses its port, and eth0 keeps its own"):
        lose_interface(planning, spaces)
    with facts.fact("pools by name: a definition gives no pod what is not its namespace's, and an Event says so"):
        spaces.define(FREE, "storage")
        message = refusal_of(planning, "stranger", FREE, {NETWORKS: "storage"})
        expect(f'pool "storage" is not for namespace {FREE}' in message, message)


def lose_interface(planning, spaces):
    made, port, result = planning.run_pod("unplugged", namespace=FREE, annotations={NETWORKS: "shared@net1"})
    expect_same(2, len(planning.ports_of(made.pod.uid)), "ports")
    path = f"{planning.path('pods', FREE)}/unplugged"
    # The kubelet says so of a pod that runs.
    address = result["ips"][0]["address"].split("/")[0]
    planning.api.patch(f"{path}/status", {"status": {"podIP": address, "podIPs": [{"ip": address}]}})
    planning.api.patch(path, {"metadata": {"annotations": {NETWORKS: None}}})
    planning.wait_for("eth0's port alone", lambda: [each["id"] for each in planning.ports_of(made.pod.uid)] == [port["id"]])
    expect_same({"eth0"}, set(planning.vifs_of("unplugged", FREE)), "planned interfaces")
    spaces.end_pods(made)


def with_plan(made, plan):
    """A copy of the sandbox, reached by another of its ports."""
    other = copy.copy(made)
    other.pod = dataclasses.replace(made.pod, plan=plan)
    return other
