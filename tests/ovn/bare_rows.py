"""The rows that kuryr-controller writes for nodes and pods (docs/ovn-rows.md), written by the test itself."""
import ipaddress
import json
import socket
import uuid

from ovn.central import FOLDER, HOST_NAME

CLUSTER = "scale"
SERVERS = ("icmp4.type == {5, 9} || icmp6.type == 137 || (udp.src == 67 && udp.dst == 68) || (udp.src == 547 && udp.dst == 546) || "
           "(igmp && ip4.dst == 224.0.0.1)")


def ids(row="", **more):
    """row: empty where the row's name says which one it is."""
    return ["map", [["kuryr-cluster", CLUSTER], *([["kuryr-row", row]] if row else []), *more.items()]]


def insert(table, uuid_name, /, **row):
    return {"op": "insert", "table": table, "uuid-name": uuid_name, "row": row}


def place(table, where, column, name):
    return {"op": "mutate", "table": table, "where": [["name", "==", where]], "mutations": [[column, "insert", ["named-uuid", name]]]}


class BareRows:
    # Pods of one transaction, as kuryr-controller has at most.
    BATCH = 500

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(f"{FOLDER}/ovnnb_db.sock")
        self.decoder, self.buffer = json.JSONDecoder(), ""
        self.nodes = self.pods = self.bytes_of_pod = 0
        self.first_pod = self._id(1)
        self.transact([insert("Logical_Router", "r", name=CLUSTER, external_ids=ids("router"))])

    def grow(self, nodes, pods):
        """To so many nodes, each with so many pods."""
        while self.nodes < nodes:
            self.transact(self._node(self.nodes))
            self.nodes += 1
            made = [operation for _ in range(pods) for operation in self._pod(self.nodes - 1)]
            for begin in range(0, len(made), 2 * self.BATCH):
                self.bytes_of_pod = self.transact(made[begin:begin + 2 * self.BATCH]) // (len(made) // 2)

    def add_pod(self, node):
        self.transact(self._pod(node))

    def transact(self, operations):
        """The bytes that were sent."""
        message = json.dumps({"method": "transact", "params": ["OVN_Northbound", *operations], "id": 1}).encode()
        self.socket.sendall(message)
        while True:
            try:
                answer, end = self.decoder.raw_decode(self.buffer)
                self.buffer = self.buffer[end:]
            except ValueError:
                self.buffer += self.socket.recv(1 << 20).decode()
                continue
            if answer.get("method") == "echo":
                self.socket.sendall(json.dumps({"id": answer["id"], "result": [], "error": None}).encode())
                continue
            failures = [each for each in answer["result"] if each and "error" in each]
            assert not failures, failures
            return len(message)

    @staticmethod
    def _id(number):
        return str(uuid.UUID(int=number))

    @staticmethod
    def _network(node):
        return ipaddress.ip_network((int(ipaddress.ip_address("10.0.0.0")) + (node << 8), 24))

    @staticmethod
    def _chassis(node):
        return HOST_NAME if node == 0 else f"n{node}"

    def _node(self, node):
        row, network = f"node/n{node}", self._network(node)
        name, mac = f"{CLUSTER}/{row}", f"0a:58:01:00:{node >> 8:02x}:{node & 255:02x}"
        own = f"0a:58:02:00:{node >> 8:02x}:{node & 255:02x} {network[2]}"
        match = f'inport == "{name}/management" && eth.src == {own.split()[0]} && (ip4.src == {network[2]})'
        return [
            insert("Logical_Switch", "s", name=name, external_ids=ids(row),
                   ports=["set", [["named-uuid", "p"], ["named-uuid", "m"]]], acls=["set", [["named-uuid", "a"], ["named-uuid", "b"]]]),
            insert("ACL", "a", action="allow", direction="to-lport", priority=32767, match=match, external_ids=ids(row)),
            insert("ACL", "b", action="drop", direction="from-lport", priority=32767, match=SERVERS, external_ids=ids(f"{row}/servers")),
            insert("Logical_Router_Port", "l", name=name, mac=mac, networks=f"{network[1]}/24", external_ids=ids(row)),
            place("Logical_Router", CLUSTER, "ports", "l"),
            insert("Logical_Router_Static_Route", "t", ip_prefix=str(network), nexthop=str(network[2]), policy="src-ip",
                   external_ids=ids(f"{row}/ipv4")),
            place("Logical_Router", CLUSTER, "static_routes", "t"),
            insert("Logical_Switch_Port", "p", name=f"{name}/router", type="router", addresses="router",
                   options=["map", [["router-port", name]]], external_ids=ids(f"{row}/router")),
            insert("Logical_Switch_Port", "m", name=f"{name}/management", addresses=own, port_security=own.split()[0],
                   external_ids=ids(f"{row}/management"), options=["map", [["requested-chassis", self._chassis(node)]]])]

    def _pod(self, node):
        self.pods += 1
        number, port = self.pods, self._id(self.pods)
        digits = f"{number:08x}"
        mac = ":".join(["0a:58", *(digits[at:at + 2] for at in range(0, 8, 2))])
        addresses = f"{mac} {self._network(node)[3 + number % 250]}"
        return [insert("Logical_Switch_Port", f"d{number}", name=port, addresses=addresses, port_security=addresses,
                       options=["map", [["requested-chassis", self._chassis(node)]]],
                       external_ids=ids(**{"kuryr-owner": port, "kuryr-name": f"default/pod-{number}"})),
                place("Logical_Switch", f"{CLUSTER}/node/n{node}", "ports", f"d{number}")]
