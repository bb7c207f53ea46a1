"""ADDs, packets and changes with many policies that select some pods, beside pods that they do not select."""
import itertools
import socket
import statistics
import threading
import time

from harness.expectation import expect
from harness.namespaces import network

NAMESPACE = "costs"
PATH = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies"
POLICED, FREE, CLIENT = "policed", "free", "client"
PORT, FIRST_OTHER_PORT = 7000, 10000
ROUND_TRIPS, TCP_BYTES = 500, 8_000_000
STEP_SECONDS, SETTLE_SECONDS, REPLY_SECONDS, EFFECT_SECONDS = 0.0005, 1, 5, 30


def policy(number):
    """Number 0 lets the client in, and is the last one by its name; the others let other clients in."""
    name, app, port = (f"policy-{number}", f"other-{number}", FIRST_OTHER_PORT + number) if number else ("zero", CLIENT, PORT)
    ports = [{"protocol": protocol, "port": port} for protocol in ("TCP", "UDP")]
    return {"metadata": {"name": name}, "spec": {
        "podSelector": {"matchLabels": {"app": POLICED}}, "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": app}}}], "ports": ports}]}}


class Costs:
    def __init__(self, cluster):
        self.cluster, self.numbers, self.made = cluster, itertools.count(), 0
        cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.pods = {name: self.run_pod(name, name) for name in (CLIENT, POLICED, FREE)}
        for name in (POLICED, FREE):
            for serve, kind in ((echo, socket.SOCK_DGRAM), (swallow, socket.SOCK_STREAM)):
                with network(self.pods[name][0]):
                    server = socket.socket(socket.AF_INET, kind)
                server.bind(("0.0.0.0", PORT))
                threading.Thread(target=serve, args=(server,), daemon=True).start()

    def run_pod(self, name, app):
        """On the first node: (path of its network, its IPv4)."""
        addresses = self.cluster.run_pod(NAMESPACE, {"name": name, "labels": {"app": app}}, [{"name": "main", "image": "pause"}])
        return self.cluster.path_of(f"{NAMESPACE}/{name}"), addresses["eth0"][4]

    def connect(self, name, kind):
        with network(self.pods[CLIENT][0]):
            made = socket.socket(socket.AF_INET, kind)
        made.settimeout(REPLY_SECONDS)
        made.connect((self.pods[name][1], PORT))
        return made

    def have(self, count):
        """So many policies, which are in effect."""
        while self.made < count:
            self.cluster.ask("POST", PATH, policy(self.made))
            self.made += 1
        wanted, deadline = float(count), time.monotonic() + EFFECT_SECONDS
        while self.metrics().get("kuryr_daemon_policies") != wanted or not self.metrics().get("kuryr_daemon_policies_in_effect"):
            expect(time.monotonic() < deadline, f"not {count} policies in effect")
            time.sleep(0.05)
        time.sleep(SETTLE_SECONDS)

    def metrics(self):
        return self.cluster.nodes[0].agent.metrics()

    # ---- measurements: milliseconds, but for rates
    def add(self, app):
        name = f"{app}-{next(self.numbers)}"
        sandbox = self.cluster.create_pod(NAMESPACE, {"name": name, "labels": {"app": app}}, [{"name": "main", "image": "pause"}])
        ports = f"/apis/openstack.org/v1/namespaces/{NAMESPACE}/kuryrports"
        while not any(each["metadata"]["name"] == name for each in self.cluster.api.get(ports)["items"]):
            time.sleep(0.01)
        began = time.monotonic()
        sandbox.add().result()
        took = 1000 * (time.monotonic() - began)
        self.cluster.end_pod(NAMESPACE, name)
        return took

    def round_trip(self, name):
        with self.connect(name, socket.SOCK_DGRAM) as client:
            began = time.monotonic()
            for _ in range(ROUND_TRIPS):
                client.send(b"x")
                client.recv(10)
            return 1000 * (time.monotonic() - began) / ROUND_TRIPS

    def rate(self, name):
        """MB a second."""
        with self.connect(name, socket.SOCK_STREAM) as client:
            began = time.monotonic()
            client.sendall(bytes(TCP_BYTES))
            client.shutdown(socket.SHUT_WR)
            client.recv(1)
            return TCP_BYTES / (time.monotonic() - began) / 1e6

    def effect(self):
        """From the request for a policy that isolates the free pod to the last packet that came."""
        isolating = {"metadata": {"name": "isolating"}, "spec": {"podSelector": {"matchLabels": {"app": FREE}}}}
        with self.connect(FREE, socket.SOCK_DGRAM) as client:
            client.settimeout(SETTLE_SECONDS)
            client.send(b"x")
            client.recv(10)
            began = last = time.monotonic()
            writing = threading.Thread(target=lambda: self.cluster.ask("POST", PATH, isolating))
            writing.start()
            try:
                while time.monotonic() - began < EFFECT_SECONDS:
                    client.send(b"x")
                    client.recv(10)
                    last = time.monotonic()
                    time.sleep(STEP_SECONDS)
            except TimeoutError:
                pass
            writing.join()
        self.cluster.ask("DELETE", f"{PATH}/isolating")
        self.have(self.made)
        return 1000 * (last - began)


def echo(server):
    while True:
        server.sendto(*server.recvfrom(10))


def swallow(server):
    server.listen()
    while True:
        connection = server.accept()[0]
        with connection:
            while connection.recv(1 << 16):
                pass
            connection.send(b"x")


def measure(facts, cluster, counts, rounds):
    """Prints a table, and gives its rows. cluster: LocalCluster; counts: of policies, growing."""
    costs, rows = Costs(cluster), []
    print("policies  ADD free  policed  ratio | round trip free  policed  ratio | TCP free  policed  ratio | in effect after: p50, most")
    for count in counts:
        with facts.fact(f"costs with {count} policies"):
            costs.have(count)
            found = {measured: [[measured(name) for name in (FREE, POLICED)] for _ in range(rounds)]
                     for measured in (costs.add, costs.round_trip, costs.rate)}
            medians = {measured: [statistics.median(each) for each in zip(*pairs)] for measured, pairs in found.items()}
            effects = sorted(costs.effect() for _ in range(rounds))
            (add, policed_add), (trip, policed_trip), (rate, policed_rate) = medians.values()
            print(f"{count:8} {add:6.1f} ms {policed_add:5.1f} ms {policed_add / add:6.2f} | {trip:12.3f} ms {policed_trip:6.3f} ms "
                  f"{policed_trip / trip:6.2f} | {rate:6.1f} MB/s {policed_rate:5.1f} MB/s {policed_rate / rate:5.2f} | "
                  f"{statistics.median(effects):.1f} ms, {effects[-1]:.1f} ms", flush=True)
            rows.append({"policies": count, "add_free_ms": add, "add_ms": policed_add, "trip_free_ms": trip, "trip_ms": policed_trip,
                         "tcp_free_mb": rate, "tcp_mb": policed_rate, "effect_p50_ms": statistics.median(effects),
                         "effect_most_ms": effects[-1]})
    return rows
