"""The time that Neutron takes for ports by itself: a POST, and from a port of Open vSwitch to ACTIVE."""
import time
from concurrent.futures import ThreadPoolExecutor

from neutron.timed_pods import tell

AT_ONCE = 8  # as many as kuryr-controller has workers
STATUS_SECONDS = 0.02
ACTIVE_SECONDS = 600
MOST_IDS = 150


def measure(node, network, rounds, count):
    posts, actives = [], []
    for number in range(rounds + 1):
        began = time.monotonic()
        said, plan = network.add_port(network.open)
        posts.append(time.monotonic() - began)
        began = time.monotonic()
        plug(node, [plan])
        wait_until_active(network.neutron, [plan])
        actives.append(time.monotonic() - began)
        remove(node, network, [plan])
    # After its own start Neutron takes longer for its first port.
    tell("POST of a port", posts[1:])
    tell("a port of Open vSwitch, until ACTIVE", actives[1:])
    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as clients:
        plans = list(clients.map(lambda _: network.add_port(network.open)[1], range(count)))
    tell(f"{count} POSTs, {AT_ONCE} at a time: in all", [time.monotonic() - began])
    began = time.monotonic()
    plug(node, plans)
    wait_until_active(network.neutron, plans)
    tell(f"{count} ports of Open vSwitch at once, until all are ACTIVE", [time.monotonic() - began])
    remove(node, network, plans)


def plug(node, plans):
    """As kuryr-cni does it, without a pod behind them."""
    words = []
    for plan in plans:
        words += ["--", "add-port", "br-int", plan.tap, "--", "set", "Interface", plan.tap, "type=internal",
                  f"external_ids:iface-id={plan.id}", f'external_ids:attached-mac="{plan.mac}"', "external_ids:iface-status=active"]
    node.ovs.vsctl(*words[1:])


def wait_until_active(neutron, plans):
    deadline = time.monotonic() + ACTIVE_SECONDS
    waiting = [plan.id for plan in plans]
    while waiting:
        asked = waiting[:MOST_IDS]
        found = neutron.get("ports?status=ACTIVE&fields=id&" + "&".join(f"id={each}" for each in asked))["ports"]
        waiting = [each for each in waiting if {"id": each} not in found]
        assert time.monotonic() < deadline, f"{len(waiting)} ports are not ACTIVE after {ACTIVE_SECONDS} s"
        time.sleep(STATUS_SECONDS)


def remove(node, network, plans):
    words = []
    for plan in plans:
        words += ["--", "del-port", plan.tap]
    node.ovs.vsctl(*words[1:])
    with ThreadPoolExecutor(AT_ONCE) as clients:
        list(clients.map(lambda plan: network.neutron.delete("port", plan.id), plans))
