"""How long pods take from their creation to a ping, and how many requests to Neutron."""
import datetime
import re
import statistics
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from harness.expectation import expect
from harness.pod import Pod
from neutron.facts_of_pools import READY
from neutron.planning import SECONDS
from ovn import exchange
from ovn.node import AGENT

CLIENTS = 8
# That kuryr-controller takes.
MOST_BATCH = 100
ADD_SECONDS = 600
FILL_SECONDS = 600
# So long a controller that begins to lead looks for what another one made for each pod.
SETTLED_SECONDS = 125
REQUESTS = re.compile(r'kuryr_controller_neutron_requests_total\{request="([a-z_]+)",outcome="ok"\}')
PLANNED = re.compile(r'time=(\S+) .*msg="pod planned" pod=default/(\S+) .*active=false')


def tell(what, seconds):
    """A line: median and longest, in ms."""
    found = [round(1000 * each) for each in sorted(seconds)]
    print(f"{what}: {statistics.median(found):.0f} ms" + (f", at most {found[-1]}" if len(found) > 1 else ""), flush=True)


def pool_of(count):
    """Options of a pool that has a port for each of so many pods, and is not filled again while they come."""
    return (f"[kubernetes]\nvif_pool_driver = neutron\n[vif_pool]\nports_pool_min = {count}\nports_pool_max = {2 * count}\n"
            f"ports_pool_batch = {min(count, MOST_BATCH)}\nports_pool_update_frequency = 3600\n")


def fill(planning, controller, count):
    """By the first pod of the node. Then the controller is no new leader any more."""
    began = time.monotonic()
    planning.create("first")
    planning.wait_for(f"{count} ready ports", lambda: ready_ports(controller) >= count, FILL_SECONDS)
    tell(f"a pool of {count}, filled", [time.monotonic() - began])
    planning.wait_for("settled", lambda: time.monotonic() > began + SETTLED_SECONDS, 2 * SETTLED_SECONDS)


def ready_ports(controller):
    expect(controller.crash() is None, f"kuryr-controller ended; see {controller.log}")
    return sum(value for name, value in controller.metrics().items() if "_pool_ports{" in name)


def measure(planning, controller, rounds, count):
    target, _, _ = planning.run_pod(f"target-{planning.node.number()}")
    before = requests(controller)
    pods = [TimedPod(planning, controller) for _ in range(rounds)]
    for pod in pods:
        pod.run()
        pod.ping(target)
    tell_all(pods, planned_times(controller))
    tell_requests(requests(controller) - before, rounds)
    remove(planning, [*(pod.made for pod in pods)])
    before = requests(controller)
    pods = [TimedPod(planning, controller) for _ in range(count)]
    began = time.monotonic()
    with ThreadPoolExecutor(count) as runtimes:
        list(runtimes.map(TimedPod.run, pods))
    tell(f"{count} pods at once: until the last is answered", [time.monotonic() - began])
    tell_all(pods, planned_times(controller))
    tell_requests(requests(controller) - before, count)
    remove(planning, [target, *(pod.made for pod in pods)])


def requests(controller):
    """That Neutron has answered, by kind."""
    found = Counter()
    for name, value in controller.metrics().items():
        if kind := REQUESTS.match(name):
            found[kind[1]] += int(value)
    return found


def tell_requests(counted, pods):
    """Up to now: deleting is not among them."""
    kinds = ", ".join(f"{kind} {number / pods:.2f}" for kind, number in sorted(counted.items()) if number)
    print(f"requests for a pod: {kinds}", flush=True)


def planned_times(controller):
    """{pod: when its plan was written, as the clock on the wall}"""
    return {name: datetime.datetime.fromisoformat(when).timestamp() for when, name in PLANNED.findall(controller.log.read_text())}


def tell_all(pods, planned):
    tell("  created, until the plan is written", [planned[pod.name] - pod.created for pod in pods])
    tell("  created, until ADD is answered", [pod.answered - pod.created for pod in pods])
    if all(pod.pinged for pod in pods):
        tell("  created, until a ping is answered", [pod.pinged - pod.created for pod in pods])


def remove(planning, all_made):
    """With their ports, which may be ready ones again."""
    def one(made):
        made.delete().silent()
        planning.delete(made.pod.name)
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(one, all_made))
    uids = {made.pod.uid for made in all_made}
    network = planning.network.network["id"]
    planning.wait_for("no port", lambda: not [
        port for port in planning.neutron.get(f"ports?network_id={network}&fields=device_id&fields=name")["ports"]
        if port["device_id"] in uids and port["name"] != READY], 10 * SECONDS)


class TimedPod:
    """Its times are the wall's, as the controller's log has them."""

    def __init__(self, planning, controller):
        self.planning, self.controller = planning, controller
        self.name = f"timed-{planning.node.number()}"
        self.pinged = None

    def run(self):
        self.created = time.time()
        uid = self.planning.create(self.name)
        self.made = self.planning.node.attachment(pod=Pod(self.name, uid), conf={"kuryr_conf": self.planning.confs[AGENT]})
        answer = self.planning.node.finish_call(self.made.start("ADD"), "ADD", ADD_SECONDS)
        self.made.result = answer.result()
        self.answered = time.time()

    def ping(self, target):
        exchange.ping(self.made, target, 4)
        self.pinged = time.time()
