"""The policies of docs/policy-examples.md allow what the page says, and what a second reading of them says."""
import contextlib
import re
from pathlib import Path

import yaml

from harness.expectation import expect, expect_same
from harness.process import REPOSITORY
from policies.policed_pods import PolicedPods
from policies.policy_chance import CIDRS, Pod
from policies.policy_reading import Cluster, allowed

PAGE = Path(REPOSITORY / "docs/policy-examples.md")
EXAMPLES, SHOWN = 10, 3
SHOWN_COMMAND = "kuryr-daemon policy shop/db"
# Addresses and digests.
VARYING = re.compile(r"[0-9a-f.:]{7,}")
PAGES_NETWORK = "10.244.0.0/16"
PORTS = {"TCP": (53, 80, 5432, 9100), "UDP": (53,)}
METRICS = {("metrics", "TCP"): 9100}
NAME = "kubernetes.io/metadata.name"
NAMESPACES = {name: {NAME: name} for name in ("shop", "monitoring", "kube-system", "guests")}
ROW = re.compile(r"^\| `([a-z-]+)/([a-z-]+)` \| (.*) \| (.*) \|$", re.M)
SENTENCE = re.compile(r"`([a-z-]+/[a-z-]+)`\s(does\snot\sreach|reaches)\s`([a-z-]+/[a-z-]+)`\sat\s(tcp|udp)/(\d+)")


def check(facts, cluster, explain=None):
    """cluster: ControlledPods without pods; explain(pod): what its node says of the policies of a pod, if nodes know them."""
    head, *examples = re.split(r"^## ", PAGE.read_text().replace(PAGES_NETWORK, CIDRS[4]), flags=re.M)
    with facts.fact("the pods of docs/policy-examples.md reach each other", basis=True):
        pods = PolicedPods(cluster, NAMESPACES, [pod_of(*row) for row in ROW.findall(head)], PORTS)
        pods.expect_ways(pods.all_ways())
    for number, example in enumerate(examples, 1):
        with facts.fact(f"docs/policy-examples.md, {number}: {example.splitlines()[0]}"):
            expect_example(pods, example)
    with facts.fact("docs/policy-examples.md has ten examples"):
        expect(len(examples) == EXAMPLES, len(examples))
        pods.expect_ways(pods.all_ways())
    if explain:
        with facts.fact("kuryr-daemon policy prints what docs/policy.md shows"):
            expect_explained(pods, examples[SHOWN - 1], explain)
    pods.remove()


def pod_of(namespace, name, labels, served):
    pairs = re.findall(r"([a-z0-9-]+): \"?([a-z-]+)", labels)
    return Pod(namespace, name, dict(pairs), METRICS if "metrics" in served else {})


def policies_of(example):
    return [each for block in re.findall(r"```yaml\n(.*?)```", example, re.S) for each in yaml.safe_load_all(block)]


def expect_example(pods, example):
    policies = policies_of(example)
    wanted = allowed(Cluster(policies, [], pods.namespaces, {}), pods.pods, pods.all_ways())
    said = SENTENCE.findall(example)
    expect({does for _, does, *_ in said} >= {"reaches"} and len(said) > 1, "the page says too little")
    for source, does, target, protocol, port in said:
        ways = {way for way in pods.all_ways() if way[:2] == (source, target) and way[3:] == (protocol.upper(), int(port))}
        expect(ways, f"no way from {source} to {target} at {protocol}/{port} is tried")
        expect(bool(ways & wanted) == (does == "reaches"), f"{source} {does} {target} at {protocol}/{port}: the policies say otherwise")
    with applied(pods, policies):
        pods.expect_ways(wanted, "with the policy")


@contextlib.contextmanager
def applied(pods, policies):
    listed = [f"/apis/networking.k8s.io/v1/namespaces/{each['metadata']['namespace']}/networkpolicies" for each in policies]
    for path, policy in zip(listed, policies):
        pods.apply(("POST", path, policy))
    try:
        yield
    finally:
        for path, policy in zip(listed, policies):
            pods.apply(("DELETE", f"{path}/{policy['metadata']['name']}", None))


def expect_explained(pods, example, explain):
    *_, pod = SHOWN_COMMAND.split()
    shown = re.search(rf"\$ {SHOWN_COMMAND}\n(.*?)```", (REPOSITORY / "docs/policy.md").read_text(), re.S)
    policies = policies_of(example)
    with applied(pods, policies):
        pods.expect_ways(allowed(Cluster(policies, [], pods.namespaces, {}), pods.pods, pods.all_ways()), "with the policy")
        expect_same(VARYING.sub("_", shown[1]), VARYING.sub("_", explain(pod)), "kuryr-daemon policy")
