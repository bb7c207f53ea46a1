"""The calls of the CRI, Kubernetes' Container Runtime Interface, version 1, that make and remove pods' sandboxes."""
import json
import time

import grpc

LENGTH_DELIMITED = 2
INITIALIZED_SECONDS = 30
# PodSandboxState.SANDBOX_READY
READY = 0


def varint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded + bytes([number]))


def message(fields):
    """A protobuf message. `fields`: number -> text, int, a message's own fields, or a list of such."""
    encoded = b""
    for number, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, int):
                encoded += varint(number << 3) + varint(value)
                continue
            content = message(value) if isinstance(value, dict) else value.encode()
            encoded += varint(number << 3 | LENGTH_DELIMITED) + varint(len(content)) + content
    return encoded


def entry(key, value):
    """An entry of a map<string, string>."""
    return {1: key, 2: value}


def read_varint(encoded, at):
    number = shift = 0
    while True:
        byte = encoded[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def parse(encoded):
    """A message's (number, value) pairs; strings and messages as bytes."""
    at = 0
    while at < len(encoded):
        key, at = read_varint(encoded, at)
        value, at = read_varint(encoded, at)
        if key & 7 == LENGTH_DELIMITED:
            value, at = encoded[at:at + value], at + value
        yield key >> 3, value


class Cri:
    """Thread-safe, as gRPC's channel is."""

    def __init__(self, socket):
        self._socket = socket
        self._open()

    def _open(self):
        # Connections are not shared: the next daemon has the same address.
        self._channel = grpc.insecure_channel(f"unix://{self._socket}", [("grpc.use_local_subchannel_pool", 1)])

    def connect(self):
        """Again, with the next daemon."""
        self.close()
        self._open()

    def close(self):
        self._channel.close()

    def _call(self, method, request):
        """Waits for the daemon's socket, and until it takes calls: containerd answers "server is not initialized yet"."""
        call = self._channel.unary_unary(f"/runtime.v1.RuntimeService/{method}", message, None)
        began = time.monotonic()
        while True:
            try:
                return list(parse(call(request, timeout=120, wait_for_ready=True)))
            except grpc.RpcError as error:
                if "not initialized yet" not in error.details() or time.monotonic() - began > INITIALIZED_SECONDS:
                    raise
            time.sleep(0.1)

    def version(self):
        return {number: value.decode() for number, value in self._call("Version", {})}

    def run_pod_sandbox(self, pod, annotations=None, port_mappings=()):
        """`port_mappings`: (host port, container port). The sandbox's id."""
        ports = [{2: container, 3: host} for host, container in port_mappings]
        config = {1: {1: pod.name, 2: pod.uid, 3: "default"}, 2: pod.name, 5: ports,
                  7: [entry(*item) for item in (annotations or {}).items()], 8: {2: {1: {1: 0}}}}
        return dict(self._call("RunPodSandbox", {1: config}))[1].decode()

    def exec_sync(self, container, command):
        """(exit status, stdout, stderr)"""
        answer = dict(self._call("ExecSync", {1: container, 2: command, 3: 60}))
        return answer.get(3, 0), answer.get(1, b"").decode(), answer.get(2, b"").decode()

    def stop_pod_sandbox(self, sandbox):
        self._call("StopPodSandbox", {1: sandbox})

    def remove_pod_sandbox(self, sandbox):
        self._call("RemovePodSandbox", {1: sandbox})

    def network(self):
        """The name of the one that the next sandboxes get."""
        info = [dict(parse(value)) for number, value in self._call("Status", {1: 1}) if number == 2]
        (config,) = [json.loads(each[2]) for each in info if each[1] == b"cniconfig"]
        return config["Networks"][-1]["Config"]["Name"]

    def addresses(self, sandbox):
        status = dict(parse(dict(self._call("PodSandboxStatus", {1: sandbox}))[1]))
        network = list(parse(status[5]))
        return [value.decode() for number, value in network if number == 1] + [
            dict(parse(value))[1].decode() for number, value in network if number == 2]

    def sandbox_of(self, uid):
        """The id of a pod's sandbox that is ready."""
        (sandbox,) = self._call("ListPodSandbox", {1: {2: {1: READY}, 3: entry("io.kubernetes.pod.uid", uid)}})
        return dict(parse(sandbox[1]))[1].decode()

    def netns(self, sandbox):
        """The path of a sandbox's network namespace."""
        info = [dict(parse(value)) for number, value in
                self._call("PodSandboxStatus", {1: sandbox, 2: 1}) if number == 2]
        spec = json.loads(info[0][2])["runtimeSpec"]
        return [space["path"] for space in spec["linux"]["namespaces"] if space["type"] == "network"][0]
