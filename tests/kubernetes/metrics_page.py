"""docs/metrics.md beside what the programs answer."""
import re
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from harness.expectation import nothing
from harness.kuryr_daemon import HEALTH
from kubernetes.controllers import ask

ROW = re.compile(r"^\| (kuryr_\w+) \| (\w+) \| ([\w, ]*) ?\|", re.MULTILINE)


def check():
    page = read_page()
    with urllib.request.urlopen(f"{HEALTH}/metrics", timeout=10) as answer:
        agents = families(answer.read().decode())
    # The controller that answers need not lead.
    controllers = families(ask("/metrics"))
    nothing({name for name in page if name.startswith("kuryr_daemon_")} ^ set(agents), "of the agent's, there or on the page")
    compare(page, {**agents, **controllers})


def check_devices():
    """kuryr-devices', on this node."""
    with urllib.request.urlopen("http://127.0.0.1:8083/metrics", timeout=10) as answer:
        told, page = families(answer.read().decode()), read_page()
    nothing({name for name in page if name.startswith("kuryr_devices_")} ^ set(told), "there or on the page")
    compare(page, told)


def read_page():
    """{name: (type, labels)}"""
    return {name: (kind, set(filter(None, labels.strip().split(", "))))
            for name, kind, labels in ROW.findall(Path("docs/metrics.md").read_text(encoding="utf-8"))}


def compare(page, found):
    for name, (kind, labels) in found.items():
        told, own = page[name]
        assert kind == told and all(each == own for each in labels), f"{name}: {kind} {labels}, on the page {told} {own}"


def families(text):
    """{name: (type, the labels of each of its samples)}"""
    return {family.name + ("_total" if family.type == "counter" else ""):
            (family.type, [set(sample.labels) - {"le"} for sample in family.samples])
            for family in text_string_to_metric_families(text)}
