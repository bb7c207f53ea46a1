"""The tree of etc/kubernetes: parts, which only name files, and overlays, which kubectl renders."""
import re
import shutil
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "etc/kubernetes"
BASE, OVERLAYS = FOLDER / "base", FOLDER / "overlays"
OLD = OVERLAYS / "before-1.21"
# kubectl 1.20 knows neither folders among resources nor components.
LEAST_MINOR = 21
VERSION = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
WORKLOADS = ("DaemonSet", "Deployment", "StatefulSet")


def by_name(objects):
    """{(kind, name): object}"""
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def part(name):
    """The objects of a folder of base."""
    told = yaml.safe_load((BASE / name / "kustomization.yaml").read_text())
    objects = [each for file in told.get("resources", ()) for each in yaml.safe_load_all((BASE / name / file).read_text())]
    for made in told.get("configMapGenerator", ()):
        objects.append({"apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": made["name"], "namespace": made["namespace"], "labels": told["generatorOptions"]["labels"]},
                        "data": {file: (BASE / name / file).read_text() for file in made["files"]}})
    return by_name(objects)


def names(folder):
    """Those of its folders that are no folders of overlays."""
    return sorted(each.parent.name for each in folder.glob("*/kustomization.yaml"))


def workloads(objects):
    return [each for (kind, _), each in sorted(objects.items()) if kind in WORKLOADS]


def containers_of(spec):
    return spec.get("initContainers", []) + spec["containers"]


def minor_of_kubectl():
    """None without kubectl."""
    if not shutil.which("kubectl"):
        return None
    said = subprocess.run(["kubectl", "version", "--client"], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"v1\.(\d+)\.", said)[1])


def render(folder):
    """The objects that kubectl makes of a kustomization; its stderr."""
    done = subprocess.run(["kubectl", "kustomize", folder], check=True, capture_output=True, text=True)
    return by_name(yaml.safe_load_all(done.stdout)), done.stderr
