"""Facts of the overlays of etc/kubernetes, as kubectl renders them, and of all workloads in them."""
import re
import tempfile
from pathlib import Path

from rendering.tree import BASE, FOLDER, LEAST_MINOR, OLD, OVERLAYS, ROOT, VERSION
from rendering.tree import containers_of, minor_of_kubectl, names, part, render, workloads

LOCAL = ("kuryrport", "agent", "controller")
PARTS = {"local": LOCAL, "agent": ("kuryrport", "agent"), "controller": ("kuryrport", "controller"),
         "ovn": (*LOCAL, "ovn"), "neutron": (*LOCAL, "neutron"), "k3s": (*LOCAL, "k3s")}
MIB = {"Mi": 1, "Gi": 1024}
# (page, what it has measured or counted, in MiB, the containers whose limit holds it, how many times). Kubernetes' own limit is
# 150,000 pods; a server of OVN needs twice its size to write its file. The figures of OVN are of 300 nodes.
MEASURED = (
    ("docs/performance.md", r"500 calls at once need (\d+) MiB", ("kuryr-daemon",), 2),
    ("tests/bench/README.md", r"155 to (\d+) MiB for the 10,000 pods", ("kuryr-controller",), 15),
    ("docs/device-plugins.md", r"([\d.]+) MiB of memory \(VmRSS\)", ("kuryr-devices",), 2),
    ("tests/bench/README.md", r"\| (\d+), \d+, \d+, \d+ (?=\|)", ("sb", "nb"), 2),
    ("tests/bench/README.md", r"\| \d+, (\d+), \d+, \d+ (?=\|)", ("northd",), 2),
    ("tests/bench/README.md", r"\| \d+, \d+, (\d+), \d+ (?=\|)", ("ovn-controller",), 2))


def problems():
    return [*_versions(), *_workloads(), *_limits(), *_paths(), *_rendered()]


def _all_parts():
    return {name: part(name) for name in names(BASE)}


def _versions():
    """Each is CHANGELOG.md's."""
    for path in (*FOLDER.rglob("*"), *ROOT.glob("docs/*.md"), ROOT / "README.md"):
        for name, tag in re.findall(r"\b(kuryr-(?:cni|ovn)):([\w.]+)", path.read_text() if path.is_file() else ""):
            if tag not in (VERSION, "VERSION"):
                yield f"{path.name} has {name}:{tag}, and CHANGELOG.md {VERSION}"
    for objects in _all_parts().values():
        for each in workloads(objects):
            for container in containers_of(each["spec"]["template"]["spec"]):
                if not re.fullmatch(r"kuryr-(cni|ovn):[\d.]+", container["image"]):
                    yield f"{container['name']} has image {container['image']}"


def _workloads():
    for folder, objects in _all_parts().items():
        for (kind, name), each in objects.items():
            if each["metadata"].get("labels", {}).get("app.kubernetes.io/part-of") != "kuryr-cni":
                yield f"{folder}: {kind} {name} has no label part-of"
        for each in workloads(objects):
            yield from _workload(each, objects)


def _workload(each, objects):
    name, template = each["metadata"]["name"], each["spec"]["template"]
    own = {"app": name, "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "kuryr-cni"}
    if template["metadata"]["labels"] != own:
        yield f"the pods of {name} have labels {template['metadata']['labels']}"
    labels = each["metadata"]["labels"]
    if not {**own, "app.kubernetes.io/version": VERSION}.items() <= labels.items() or "app.kubernetes.io/component" not in labels:
        yield f"{name} has labels {labels}"
    # kubectl apply cannot change it.
    if each["spec"]["selector"] != {"matchLabels": {"app": name}}:
        yield f"{name} selects {each['spec']['selector']}"
    if not template["spec"]["priorityClassName"].startswith("system-"):
        yield f"{name} has priority class {template['spec']['priorityClassName']}"
    if each["spec"].get("replicas", 1) > 1 and ("PodDisruptionBudget", name) not in objects:
        yield f"{name} has no PodDisruptionBudget"


def _mebibytes(text):
    return int(text[:-2]) * MIB[text[-2:]]


def _limits():
    """Every container has a request and a limit of memory, and none of CPU, which would delay pods."""
    limits = {}
    for objects in _all_parts().values():
        for each in workloads(objects):
            for container in containers_of(each["spec"]["template"]["spec"]):
                name, resources = container["name"], container["resources"]
                if set(resources["requests"]) != {"cpu", "memory"} or set(resources.get("limits", ())) != {"memory"}:
                    yield f"{name} has resources {resources}"
                    continue
                limits[name] = _mebibytes(resources["limits"]["memory"])
                if _mebibytes(resources["requests"]["memory"]) >= limits[name]:
                    yield f"{name} has resources {resources}"
    for page, pattern, containers, times in MEASURED:
        figures = [float(each) for each in re.findall(pattern, (ROOT / page).read_text())]
        if not figures:
            yield f"{page} has no figure \"{pattern}\""
        for name in containers:
            if max(figures, default=0) * times > limits.get(name, 0):
                yield f"{name} has a limit of {limits.get(name)} MiB, and {page} {max(figures)} MiB, of which it must hold {times} times"


def _paths():
    """What pages, messages and comments name."""
    for folder in ("docs", "etc", "cni", "controller"):
        for path in (ROOT / folder).rglob("*"):
            yield from _paths_of(path) if path.is_file() else ()
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        yield from _paths_of(ROOT / name)


def _paths_of(file):
    for path in re.findall(r"(?<![\w/.])etc/kubernetes/[\w./-]*\w", file.read_text(errors="replace")):
        if not (ROOT / path).exists() and not path.endswith("/NAME"):
            yield f"{file.relative_to(ROOT)} names {path}, which is not there"


# ---- what kubectl makes of it
def _rendered():
    if names(OLD) != sorted(PARTS) or names(OVERLAYS) != sorted(PARTS):
        yield f"there are the overlays {names(OVERLAYS)} and, before 1.21, {names(OLD)}"
    minor = minor_of_kubectl()
    if minor is None:
        return print("no kubectl: the overlays are not rendered")
    for name in names(BASE):
        if render(BASE / name)[0] != part(name):
            yield f"kubectl makes other objects of part {name}"
    for name in PARTS:
        yield from _compared(OLD / name, objects_of(name, "policy/v1beta1"))
    if minor < LEAST_MINOR:
        return print(f"kubectl 1.{minor}: overlays for 1.{LEAST_MINOR} and later are not rendered")
    for name in PARTS:
        yield from _compared(OVERLAYS / name, objects_of(name), quiet=True)
    yield from _own_overlay()


def objects_of(overlay, policy="policy/v1"):
    """Those of its parts. policy: the version of that group."""
    objects = {key: each for name in PARTS[overlay] for key, each in part(name).items()}
    return {(kind, name): {**each, "apiVersion": policy} if kind == "PodDisruptionBudget" else each
            for (kind, name), each in objects.items()}


def _compared(folder, wanted, quiet=False):
    found, said = render(folder)
    for key in found.keys() | wanted.keys():
        if found.get(key) != wanted.get(key):
            yield f"{folder.relative_to(ROOT)}: {' '.join(key)} is not that of its part"
    if quiet and said:
        yield f"{folder.relative_to(ROOT)}: kubectl says {said}"


def _own_overlay():
    """docs/install.md's, beside the clone."""
    (text,) = re.findall(r"```yaml\n(resources: .*?)```", (ROOT / "docs/install.md").read_text(), re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kuryr-cni").symlink_to(ROOT)
        Path(folder, "kustomization.yaml").write_text(text)
        images = {container["image"] for each in workloads(render(folder)[0])
                  for container in containers_of(each["spec"]["template"]["spec"])}
    if images != {f"registry.example/kuryr-cni:{VERSION}"}:
        yield f"docs/install.md's own overlay has images {images}"
