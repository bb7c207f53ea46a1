"""A Neutron by HTTP, of one subnet: ports are made, listed, changed and deleted. A deleted port's address is the next one's at once."""
import contextlib
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlsplit

PROJECT = "f00d5ca12d69441da7ef9633e99253e7"
NETWORK, SUBNET, GROUP = (str(uuid.uuid5(uuid.NAMESPACE_DNS, name)) for name in ("network", "subnet", "group"))
FIRST = ip_address("10.40.1.0")


def refusal(status, kind, message):
    return status, {"NeutronError": {"type": kind, "message": message, "detail": ""}}


class NeutronStandIn:
    """It serves until the process ends. Thread-safe."""

    def __init__(self, addresses):
        self.lock = threading.Lock()
        self.free = [str(FIRST + number) for number in reversed(range(addresses))]
        self.ports, self.made = {}, 0
        neutron = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do(self):
                size = int(self.headers.get("Content-Length", 0))
                status, answer = neutron.answer(self.command, self.path, json.loads(self.rfile.read(size)) if size else None)
                body = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                with contextlib.suppress(ConnectionError):  # who asked was killed
                    self.end_headers()
                    self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = do

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def options(self):
        """The part of kuryr.conf that names it."""
        return (f"[controller]\nbackend = neutron\n[neutron]\nauth_type = none\n"
                f"endpoint_override = http://127.0.0.1:{self.server.server_address[1]}\n[neutron_defaults]\nproject = {PROJECT}\n"
                f"pod_subnet = {SUBNET}\npod_security_groups = {GROUP}\nresource_tags = cluster-a\n")

    def owners(self):
        """The ports' device ids."""
        with self.lock:
            return sorted(port["device_id"] for port in self.ports.values())

    def answer(self, method, target, body):
        """Status and JSON."""
        url = urlsplit(target)
        kind, *rest = url.path.removeprefix("/v2.0/").split("/")
        if kind != "ports":
            return self.answer_unchanged(kind, rest)
        with self.lock:
            if method == "POST":
                return self.create(body)
            if rest:
                return self.answer_one(method, rest, body)
            return 200, {"ports": self.found(parse_qsl(url.query))}

    @staticmethod
    def answer_unchanged(kind, rest):
        network = {"id": NETWORK, "name": "pods", "mtu": 1442, "subnets": [SUBNET]}
        subnet = {"id": SUBNET, "name": "pods", "network_id": NETWORK, "cidr": "10.40.0.0/16", "gateway_ip": "10.40.0.1",
                  "allocation_pools": [{"start": str(FIRST), "end": "10.40.255.254"}]}
        answers = {"extensions": {"extensions": [{"alias": "tag-ports-during-bulk-creation"}]},
                   "networks": {"network": network} if rest else {"networks": [network]},
                   "subnets": {"subnet": subnet} if rest else {"subnets": [subnet]},
                   "quotas": {"quota": {"port": {"limit": -1, "used": 0, "reserved": 0}}}}
        return (200, answers[kind]) if kind in answers else refusal(404, "NotFound", kind)

    def create(self, body):
        wanted = body.get("ports") or [body["port"]]
        if len(wanted) > len(self.free):
            return refusal(409, "IpAddressGenerationFailure", f"No more IP addresses available on network {NETWORK}.")
        made = [self.make(fields) for fields in wanted]
        return 201, {"ports": made} if "ports" in body else {"port": made[0]}

    def make(self, fields):
        self.made += 1
        port = {"name": "", "description": "", "device_id": "", "device_owner": "", "tags": [], **fields, "id": str(uuid.uuid4()),
                "mac_address": "fa:16:3e:" + ":".join(f"{self.made >> shift & 255:02x}" for shift in (16, 8, 0)),
                "fixed_ips": [{"subnet_id": SUBNET, "ip_address": self.free.pop()}], "status": "ACTIVE",
                "binding:vif_type": "ovs", "binding:vif_details": {"port_filter": True}}
        self.ports[port["id"]] = port
        return port

    def answer_one(self, method, rest, body):
        port = self.ports.get(rest[0])
        if not port:
            return refusal(404, "PortNotFound", f"Port {rest[0]} could not be found.")
        if method == "DELETE":
            self.free.append(self.ports.pop(rest[0])["fixed_ips"][0]["ip_address"])
            return 204, None
        if method == "PUT":
            port.update(body if rest[1:] else body["port"])
        return 200, {"port": port}

    def found(self, query):
        ids = {value for key, value in query if key == "id"}
        ports = [self.ports[each] for each in ids if each in self.ports] if ids else self.ports.values()
        tags = {tag for key, value in query if key == "tags" for tag in value.split(",")}
        fields = [(key, value) for key, value in query if key not in ("id", "tags", "fields", "limit", "marker")]
        return [port for port in ports if tags <= set(port["tags"]) and all(port.get(key) == value for key, value in fields)]
