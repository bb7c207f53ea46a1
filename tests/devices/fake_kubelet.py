#!/usr/bin/python3 -B
"""A kubelet's sockets, with gRPC's own library: Registration, which dials back as newer ones do, and PodResources.

fake_kubelet.py serve KUBELET_DIR: removes what is in device-plugins/, as a kubelet that starts, and prints what plugins tell:
"options RESOURCE BYTES", "devices RESOURCE ID@NODE,..." and "registered RESOURCE TIMES". What pods have, it reads from
KUBELET_DIR/pods.json, {ID: RESOURCE}, each time it is asked.
fake_kubelet.py allocate SOCKET ID...: prints the answer as JSON. fake_kubelet.py prefer SOCKET SIZE ID...: prints the ids.
fake_kubelet.py allocate-often SOCKET TIMES ID...: of so many containers in one request; prints "allocated".
fake_kubelet.py prestart SOCKET ID...: prints "ready".

Before these words, the ways of older ones: --path-as-authority, which is the socket's, and --answers-first: Registration is
answered before they dial back."""
import json
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.cri import message, parse  # noqa: E402

SECONDS = 10
WAYS = {word for word in sys.argv[1:] if word.startswith("--")}


def say(*words):
    """A line in one piece: several threads say something."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def first(encoded, number, otherwise=b""):
    return next((value for field, value in parse(encoded) if field == number), otherwise)


def every(encoded, number):
    return [value for field, value in parse(encoded) if field == number]


def connect(socket):
    return grpc.insecure_channel(f"unix:{socket}", [("grpc.default_authority", str(socket))] if "--path-as-authority" in WAYS else [])


def call(socket, method, request):
    with connect(socket) as channel:
        return channel.unary_unary(f"/v1beta1.DevicePlugin/{method}")(request, timeout=SECONDS, wait_for_ready=True)


def listed(answer):
    """ "ID@NODE" of each device; "ID!HEALTH" of one that is not healthy."""
    for device in every(answer, 1):
        health, topology = first(device, 2).decode(), first(device, 3, None)
        node = "" if topology is None else f"@{first(first(topology, 1), 1, 0)}"
        yield first(device, 1).decode() + (node if health == "Healthy" else f"!{health}")


class Kubelet:
    def __init__(self, folder):
        self.folder, self.sockets = folder, folder / "device-plugins"
        self.registered = Counter()

    def serve(self):
        for socket in self.sockets.iterdir():
            socket.unlink()
        server = grpc.server(ThreadPoolExecutor(16))
        server.add_generic_rpc_handlers([
            self.handler("v1beta1.Registration", "Register", self.register),
            self.handler("v1.PodResourcesLister", "List", self.pods)])
        for socket in (self.folder / "pod-resources/kubelet.sock", self.sockets / "kubelet.sock"):
            socket.unlink(missing_ok=True)
            server.add_insecure_port(f"unix:{socket}")
        server.start()
        say("serving")
        server.wait_for_termination()

    @staticmethod
    def handler(service, method, answer):
        return grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(answer)})

    def register(self, request, context):
        if first(request, 1) != b"v1beta1":
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "another version")
        named = self.sockets / first(request, 2).decode(), first(request, 3).decode()
        if "--answers-first" in WAYS:
            threading.Thread(target=self.dial_back, args=named, daemon=True).start()
        else:
            self.dial_back(*named)
        return b""

    def dial_back(self, socket, resource):
        say("options", resource, call(socket, "GetDevicePluginOptions", b"").hex())
        threading.Thread(target=self.watch, args=(socket, resource), daemon=True).start()
        self.registered[resource] += 1
        say("registered", resource, self.registered[resource])

    @staticmethod
    def watch(socket, resource):
        with connect(socket) as channel:
            try:
                for answer in channel.unary_stream("/v1beta1.DevicePlugin/ListAndWatch")(b"", wait_for_ready=True):
                    say("devices", resource, ",".join(listed(answer)))
            except grpc.RpcError as error:
                say("ended", resource, error.code().name)

    def pods(self, _request, _context):
        file = self.folder / "pods.json"
        pods = json.loads(file.read_text()) if file.exists() else {}
        return message({1: [{1: f"pod-{number}", 2: "default", 3: {1: "main", 2: {1: resource, 2: device}}}
                            for number, (device, resource) in enumerate(sorted(pods.items()))]})


def allocate(socket, devices):
    container = first(call(socket, "Allocate", message({1: {1: devices}})), 1)
    environment = {first(each, 1).decode(): first(each, 2).decode() for each in every(container, 1)}
    nodes = [first(node, 1).decode() for node in every(container, 3)]
    say(json.dumps({"environment": environment, "nodes": nodes}))


def allocate_often(socket, times, devices):
    call(socket, "Allocate", message({1: {1: devices}}) * times)
    say("allocated")


def prefer(socket, size, devices):
    answer = call(socket, "GetPreferredAllocation", message({1: {1: devices, 3: size}}))
    say(",".join(device.decode() for device in every(first(answer, 1), 1)))


def main(command, where, *words):
    if command == "serve":
        Kubelet(Path(where)).serve()
    elif command == "allocate":
        allocate(where, list(words))
    elif command == "allocate-often":
        allocate_often(where, int(words[0]), list(words[1:]))
    elif command == "prestart":
        call(where, "PreStartContainer", message({1: list(words)}))
        say("ready")
    else:
        prefer(where, int(words[0]), list(words[1:]))


try:
    main(*(word for word in sys.argv[1:] if word not in WAYS))
except grpc.RpcError as failure:
    sys.exit(f"{failure.code().name}: {failure.details()}")
