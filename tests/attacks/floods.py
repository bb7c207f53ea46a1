"""Floods of kuryr-daemon. Each takes the node, and leaves it as it was."""
import contextlib
import json
import os
import socket
import struct
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from attacks.grammar import MOST_BYTES
from attacks.known import TAKEN
from harness.expectation import wait_for_none
from harness.kuryr_daemon import HEALTH
from harness.pod import ANNOTATION, Plan

SOCKET, STATUS_SOCKET = "/run/kuryr/kuryr-daemon.sock", "/run/kuryr/kuryr-daemon-status.sock"
PORTS = "/apis/openstack.org/v1/namespaces/default/kuryrports"
PATCHES, CHANGES, PODS, CALLS, LARGE_CALLS, CONNECTIONS, QUESTIONS = 500, 50, 100, 600, 32, 200, 20
# The health port serves two connections of one address at a time, lets 14 wait, and closes the others.
SLOW_CONNECTIONS = 40
# Half a megabyte of as many JSON values as possible.
EMPTY_LISTS = "[" + ",".join(["[]"] * 165000) + "]"


def patches(node):
    """Patches a pod while its ADD waits, each as large as the API server takes."""
    pod = node.pods.create("patched", Plan(50000, active=False))
    made = node.attachment(pod=pod)
    waiting = made.start("ADD")
    text = "x" * (MOST_BYTES - len(pod.plan.annotation()[ANNOTATION]))
    for number in range(PATCHES):
        node.pods.api.annotate(pod, {**pod.plan.annotation(), "flood": f"{number}{text}"})
    node.finish_call(waiting, "ADD").error(TAKEN)
    _end(node, made)


def pods_of_others(node):
    """Makes pods with plans of the largest size."""
    annotation = {ANNOTATION: _largest(Plan(50001))}
    with ThreadPoolExecutor(8) as makers:
        pods = list(makers.map(lambda number: node.pods.create(f"large-{number}", annotations=annotation), range(PODS)))
        _wait_for(lambda: node.agent.metrics()["kuryr_daemon_registry_pods"] >= PODS, "its pods")
        _end(node, node.added(pod=node.pods.create("usual", Plan(50002))))
        list(makers.map(node.pods.api.delete_pod, pods))


def kuryr_ports(node):
    """Changes a pod's KuryrPort all the time while its ADD waits; it is as large as etcd takes."""
    pod = node.pods.create("with-port")
    vifs = {ifname: {"default": False, "vif": vif} for ifname, vif in json.loads(_largest(Plan(50003))).items()}
    port = {"apiVersion": "openstack.org/v1", "kind": "KuryrPort", "metadata": {"name": pod.name},
            "spec": {"podUid": pod.uid, "podNodeName": "node1"}}
    node.pods.api.request("POST", PORTS, port)
    made = node.attachment(pod=pod)
    waiting = made.start("ADD")
    for number in range(CHANGES):
        node.pods.api.patch(f"{PORTS}/{pod.name}/status", {"status": {"vifs": vifs, "text": f"{number}" + "x" * 700000}})
    node.finish_call(waiting, "ADD")
    node.pods.api.request("DELETE", f"{PORTS}/{pod.name}")
    _end(node, made)


def calls(node):
    """Sends more calls than are taken at a time; each waits for its pod's plan."""
    _call_often(node, CALLS, {}, at_work=512)


def large_calls(node):
    """Sends calls with much text of a pod's user, as a runtime hands it over."""
    _call_often(node, LARGE_CALLS, {"args": {"cni": {"lists": json.loads(EMPTY_LISTS)}}}, at_work=1)


def health_port(node):
    """Opens connections that ask slowly, closes them, and scrapes."""
    with contextlib.ExitStack() as opened:
        for _ in range(SLOW_CONNECTIONS):
            made = opened.enter_context(socket.create_connection(("127.0.0.1", 8090)))
            made.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 4000)
    with ThreadPoolExecutor(8) as scrapers:
        list(scrapers.map(lambda _: _wait_for(_is_scraped, "a scrape"), range(QUESTIONS)))


def status(node):
    """Opens connections that ask nothing, and then asks."""
    with contextlib.ExitStack() as opened:
        for _ in range(CONNECTIONS):
            with contextlib.suppress(OSError):
                opened.enter_context(_connect(STATUS_SOCKET)).sendall(struct.pack("!I", 4 << 20))
    with ThreadPoolExecutor(8) as askers:
        list(askers.map(lambda _: node.agent.status(), range(QUESTIONS)))


ALL = {
    f"{PATCHES} patches of {MOST_BYTES // 1000} kB": patches,
    f"{PODS} pods of others with the largest plans": pods_of_others,
    f"{CHANGES} changes of a KuryrPort of 950 kB": kuryr_ports,
    f"{CALLS} calls at once": calls,
    f"{LARGE_CALLS} calls at once with 500 kB of JSON": large_calls,
    f"{SLOW_CONNECTIONS} slow connections to the health port, {QUESTIONS} scrapes": health_port,
    f"{CONNECTIONS} connections to the status socket, {QUESTIONS} questions": status,
}


def _is_scraped():
    """Not while connections that have ended still wait for the server."""
    with contextlib.suppress(OSError):
        return bool(urllib.request.urlopen(HEALTH + "/metrics", timeout=60).read())
    return False


def _wait_for(holds, what):
    wait_for_none(lambda: [] if holds() else [what], "is awaited in vain")


def _end(node, made):
    made.delete().silent()
    node.end_namespace(made)
    node.pods.api.delete_pod(made.pod)


def _largest(plan):
    """Text of a plan with many VIFs, each with many addresses."""
    vifs = {}
    while len(json.dumps(vifs)) < MOST_BYTES - 15000:
        vif = plan.vif()
        subnets = vif["versioned_object.data"]["network"]["versioned_object.data"]["subnets"]["versioned_object.data"]["objects"]
        addresses = subnets[0]["versioned_object.data"]["ips"]["versioned_object.data"]["objects"]
        for number in range(40):
            address = json.loads(json.dumps(addresses[0]))
            address["versioned_object.data"]["address"] = f"10.10.250.{number}"
            addresses.append(address)
        vifs[f"eth{len(vifs)}"] = vif
    return json.dumps(vifs)


def _call_often(node, count, more, at_work):
    pod = node.pods.create(f"called-{count}")
    made = node.attachment(pod=pod)
    message = {"stdin": json.dumps({**made.conf(), **more}, separators=(",", ":")), **made.environment("ADD")}
    with contextlib.ExitStack() as opened:
        descriptor = os.open(made.netns_path, os.O_RDONLY)
        opened.callback(os.close, descriptor)
        with ThreadPoolExecutor(16) as callers:
            for connection in callers.map(lambda number: _call(message, number, descriptor), range(count)):
                opened.enter_context(connection)
        _wait_for(lambda: _calls_at_work(node) >= at_work, f"{at_work} calls at work")
    _wait_for(lambda: not _calls_at_work(node), "the end of all calls")
    _end(node, made)


def _call(message, number, descriptor):
    body = json.dumps({**message, "CNI_CONTAINERID": f"flood{number}"}).encode()
    made = _connect(SOCKET)
    socket.send_fds(made, [struct.pack("!I", len(body))], [descriptor])
    made.sendall(body)
    return made


def _connect(path):
    made = socket.socket(socket.AF_UNIX)
    made.connect(path)
    made.settimeout(60)
    return made


def _calls_at_work(node):
    return sum(value for name, value in node.agent.metrics().items() if name.startswith("kuryr_daemon_requests_in_progress"))
