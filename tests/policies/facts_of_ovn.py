"""What policies cost OVN, and what they leave there."""
import time

from harness.expectation import expect
from ovn.central import EVENT_SECONDS

EXCEPTED, PORTS = 8, 40
PAIRS = 6
ADDRESS_BITS, FLOWS_OF_A_PART = 24, 5
AGAIN_SECONDS = 0.05
POLICIES = "/apis/networking.k8s.io/v1/namespaces/north/networkpolicies"
# Tables of the northbound database, with conditions. Each switch has an ACL of the highest priority.
OF_POLICIES = (("Port_Group",), ("ACL", "priority<32767"))


def costly_policy():
    """Its rule has hosts excepted from a block, and as many ports of each protocol."""
    block = {"cidr": "10.0.0.0/8", "except": [f"10.{number}.{number}.1/32" for number in range(1, EXCEPTED + 1)]}
    ports = [{"protocol": protocol, "port": 1000 + 7 * number} for protocol in ("TCP", "UDP") for number in range(PORTS // 2)]
    spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": block}], "ports": ports}]}
    return {"metadata": {"name": "costly"}, "spec": spec}


def count_flows(node):
    """The node's OpenFlow flows for what the northbound database says."""
    node.ovn.sync()
    return len(node.ovs.host.run("ovs-ofctl", "dump-flows", f"{node.ovs.folder}/{node.ovs.bridge}.mgmt").splitlines())


def wait_for_row(ovn, *condition, there=True):
    """Until the northbound database has such a row, or none."""
    deadline = time.monotonic() + EVENT_SECONDS
    while bool(ovn.nbctl("--bare", "--columns=_uuid", "find", *condition)) != there:
        expect(time.monotonic() < deadline, f"{' '.join(condition)} is {'not' if there else 'still'} in the northbound database")
        time.sleep(AGAIN_SECONDS)


def expect_no_rows(ovn, conditions):
    for condition in conditions:
        wait_for_row(ovn, *condition, there=False)


def policy_for_teams(*teams):
    peers = [{"namespaceSelector": {"matchLabels": {"team": team}}} for team in teams]
    return {"metadata": {"name": "teams", "namespace": "north"}, "spec": {"podSelector": {}, "ingress": [{"from": peers}]}}


def change_teams(pods, ovn):
    """All pods of a team go to another one, and a rule has both. OVN's behaviour depends on the order of their names and of a hash of
    these: so there are several pairs."""
    def name_team(namespace, team):
        pods.apply(("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {"team": team}}}))

    pods.apply(("POST", POLICIES, policy_for_teams("none")))
    for number in range(PAIRS):
        one, other = f"one-{number}", f"other-{number}"
        for namespace, team in {"south": other, "east": other, "west": one}.items():
            name_team(namespace, team)
        pods.apply(("PUT", f"{POLICIES}/teams", policy_for_teams(one, other)))
        wait_for_row(ovn, "Port_Group", "ports=[]", there=False)
        ovn.sync()
        name_team("west", other)
        wait_for_row(ovn, "Port_Group", "ports=[]")
        ovn.sync()
    pods.apply(("DELETE", f"{POLICIES}/teams", None))


def check(facts, pods):
    """pods: PolicedPods by chance, without policies."""
    node = pods.cluster.node
    with facts.fact("the parts of a rule add up to flows, and are not multiplied"):
        before = count_flows(node)
        policy = costly_policy()
        pods.apply(("POST", POLICIES, policy))
        wait_for_row(node.ovn, "ACL", "priority>=1001")
        made = count_flows(node) - before
        pods.apply(("DELETE", f"{POLICIES}/{policy['metadata']['name']}", None))
        expect(EXCEPTED < made < FLOWS_OF_A_PART * (EXCEPTED * ADDRESS_BITS + PORTS), f"{made} flows")
    with facts.fact("ovn-controller goes on when all pods of one of a rule's peers become another one's"):
        change_teams(pods, node.ovn)
