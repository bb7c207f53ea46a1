"""The Network Plumbing Working Group's kinds, as far as kuryr-controller reads them."""

CLAIMS, NETWORKS, POLICIES = "ipamclaims", "network-attachment-definitions", "multi-networkpolicies"
VERSIONS = {CLAIMS: "v1alpha1", NETWORKS: "v1", POLICIES: "v1beta1"}
KINDS = {CLAIMS: "IPAMClaim", NETWORKS: "NetworkAttachmentDefinition", POLICIES: "MultiNetworkPolicy"}
GROUP = "k8s.cni.cncf.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def path(plural, namespace):
    return f"/apis/{GROUP}/{VERSIONS[plural]}/namespaces/{namespace}/{plural}"


def thing(plural, name, **members):
    return {"apiVersion": f"{GROUP}/{VERSIONS[plural]}", "kind": KINDS[plural], "metadata": {"name": name, **members.pop("metadata", {})},
            **members}


def definition(plural):
    kind = KINDS[plural]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced",
                     "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": VERSIONS[plural], "served": True, "storage": True,
                                   **({"subresources": {"status": {}}} if plural == CLAIMS else {}),
                                   "schema": {"openAPIV3Schema": anything}}]}}


def define(cluster):
    for plural in KINDS:
        cluster.insist("POST", DEFINITIONS, definition(plural))
    for plural in KINDS:
        cluster.api.wait_for(path(plural, "default"))
