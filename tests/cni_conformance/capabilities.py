"""CAP: what runtimes ask for: runtimeConfig, args.cni, CNI_ARGS."""
import ipaddress
import json

from cni_conformance.case import NotApplicable, case
from cni_conformance.environment import joined
from cni_conformance.needs import has_ipam, need_ipam
from harness.expectation import expect
from harness.result_form import addresses, container_interface

MACS = ("0a:58:0a:00:00:01", "0a:58:0a:00:00:02", "0a:58:0a:00:00:03")


def need_capability(node, name):
    if not node.target.conf.get("capabilities", {}).get(name):
        raise NotApplicable(f"the configuration declares no capability {name}")


def has_mac(made, mac):
    _, ours = container_interface(made.result, made.ifname)
    expect(made.link()["address"] == mac, f"the kernel's MAC is {made.link()['address']}, not {mac}")
    expect(ours["mac"] == mac, f"the result's MAC is {ours['mac']}, not {mac}")


@case("CAP-01", "MUST", "0.3.0", each=True)
def runtime_mac(node):
    """runtimeConfig.mac is honoured"""
    need_capability(node, "mac")
    made = node.attachment()
    conf = made.conf(runtimeConfig={"mac": MACS[0]})
    if node.pods:
        made.add(conf).error(2)
        made.expect_gone("after a refused ADD")
        conf = made.conf(runtimeConfig={"mac": made.pod.plan.mac})
    made.add(conf).result()
    has_mac(made, made.pod.plan.mac if node.pods else MACS[0])


@case("CAP-02", "SHOULD", "0.3.0")
def args_mac(node):
    """args.cni.mac is honoured"""
    need_capability(node, "mac")
    made = node.attachment()
    conf = made.conf(args={"cni": {"mac": MACS[1]}})
    if node.pods:
        made.add(conf).error(2)
        return
    made.add(conf).result()
    has_mac(made, MACS[1])


@case("CAP-03", "REF", "0.3.0")
def cni_args(node):
    """CNI_ARGS MAC= and IP= are honoured, and ignored where runtimeConfig or args say it"""
    need_capability(node, "mac")
    made = node.attachment()
    args = joined(made, "IgnoreUnknown=1", f"MAC={MACS[2]}")
    if node.pods:
        made.add(CNI_ARGS=args).error(2)
        made.add(made.conf(runtimeConfig={"mac": made.pod.plan.mac}), CNI_ARGS=args).result()
        return
    made.add(CNI_ARGS=args).result()
    has_mac(made, MACS[2])
    made = node.attachment()
    made.add(made.conf(runtimeConfig={"mac": MACS[0]}), CNI_ARGS=args).result()
    has_mac(made, MACS[0])
    if has_ipam(node) and node.target.conf["ipam"]["type"] == "host-local":
        made = node.attachment()
        made.add(CNI_ARGS=f"IgnoreUnknown=1;IP={asked(node)[0].split('/')[0]}").result()
        expect(asked(node)[0] in addresses(made.result), f"addresses {addresses(made.result)}")


@case("CAP-04", "REF", "0.3.0")
def names_without_case(node):
    """names under runtimeConfig are known in any case (Mac, HostPort, IngressRate)"""
    need_capability(node, "mac")
    mac = MACS[0]
    made = node.attachment()
    if node.pods:
        mac = made.pod.plan.mac
        made.add(made.conf(runtimeConfig={"Mac": MACS[0]})).error(2)
    mapping = {"HostPort": 18080, "ContainerPort": 80, "Protocol": "tcp"}
    wishes = {"Mac": mac, "portMappings": [mapping]}
    if "bandwidth" in node.target.conf["capabilities"]:
        wishes["bandwidth"] = {"IngressRate": 1000000, "IngressBurst": 4294967295}
    made.add(made.conf(runtimeConfig=wishes)).result()
    has_mac(made, mac)


def asked(node):
    """The last address of the first pool of host-local, ADDRESS/PREFIX, and without prefix."""
    ipam = node.target.conf["ipam"]
    subnet = ipam.get("subnet") or ipam["ranges"][0][0]["subnet"]
    network = ipaddress.ip_network(subnet)
    address = network.network_address + 77
    return f"{address}/{network.prefixlen}", str(address)


@case("CAP-05", "SHOULD", "0.3.0", each=True)
def asked_addresses(node):
    """ips: addresses with or without prefix are given"""
    need_capability(node, "ips")
    if node.pods:
        made = node.attachment()
        made.add(made.conf(runtimeConfig={"ips": ["192.0.2.200/24"]})).error(2)
        made.expect_gone("after a refused ADD")
        made.add(made.conf(runtimeConfig={"ips": [made.pod.plan.cidr]})).result()
        return
    need_ipam(node, "host-local")
    for text in asked(node):
        made = node.attachment()
        made.add(made.conf(runtimeConfig={"ips": [text]})).result()
        expect(asked(node)[0] in addresses(made.result), f"asked for {text}, got {addresses(made.result)}")
        expect(asked(node)[0] in made.addresses(), f"the kernel has {made.addresses()}")
        made.delete().silent()


MALFORMED = {
    "mac": ("junk", 5, "0a:58", ""),
    "ips": ("junk", ["junk"], [5], ["10.0.0.1/99"]),
    "portMappings": ("junk", [5], [{"hostPort": 70000, "containerPort": 80}], [{"hostPort": "x", "containerPort": 80}],
                     [{"hostPort": 8080, "containerPort": 80, "protocol": "junk"}]),
    "bandwidth": ("junk", {"ingressRate": "x"}, {"ingressRate": -1}, {"egressRate": 1 << 54}, {"ingressBurst": 1000}),
    "dns": ("junk", {"servers": "x"}, {"servers": [5]}),
    "deviceID": (5, ["junk"]),
}


@case("CAP-06", "MUST", "0.3.0")
def malformed(node):
    """a malformed value is an error"""
    declared = node.target.conf.get("capabilities", {})
    if not declared:
        raise NotApplicable("the configuration declares no capability")
    for name, values in MALFORMED.items():
        for value in values if name in declared else ():
            if name == "mac" and value == "":
                continue
            made = node.attachment()
            answer = made.add(made.conf(runtimeConfig={name: value}))
            expect(not answer.succeeded(), f"{name} {json.dumps(value)} is accepted")
            answer.error()


def accepted(node, name, *values):
    need_capability(node, name)
    for value in values:
        made = node.attachment()
        made.add(made.conf(runtimeConfig={name: value})).result()
        made.delete().silent()


@case("CAP-07", "SHOULD", "0.3.0")
def port_mappings(node):
    """portMappings of tcp, udp and sctp, with and without hostIP, are accepted"""
    accepted(node, "portMappings", [], [
        {"hostPort": 18080, "containerPort": 80, "protocol": "tcp"},
        {"hostPort": 18081, "containerPort": 53, "protocol": "udp", "hostIP": "127.0.0.1"},
        {"hostPort": 18082, "containerPort": 99, "protocol": "sctp", "hostIP": "::1"}])


@case("CAP-08", "SHOULD", "0.3.0")
def bandwidth(node):
    """bandwidth in bits is accepted; burst 4294967295 is unlimited, rate 0 none; what cannot hold is error 2"""
    accepted(node, "bandwidth", {}, {"ingressRate": 0, "egressRate": 0, "ingressBurst": 0, "egressBurst": 0},
             {"ingressRate": 10000000, "ingressBurst": 4294967295})
    made = node.attachment()
    answer = made.add(made.conf(runtimeConfig={"bandwidth": {"egressRate": 20000000, "egressBurst": 4294967295}}))
    if answer.succeeded():
        made.delete().silent()
    else:
        answer.error(2)


@case("CAP-09", "SHOULD", "0.3.0", each=True)
def dns(node):
    """dns: servers, searches, options are in the result"""
    need_capability(node, "dns")
    made = node.attachment()
    wish = {"servers": ["192.0.2.53"], "searches": ["example.org"], "options": ["ndots:5"]}
    made.add(made.conf(runtimeConfig={"dns": wish})).result()
    said = made.result.get("dns", {})
    expect(said.get("nameservers") == wish["servers"] and said.get("search") == wish["searches"]
           and said.get("options") == wish["options"], f"dns {said}")
    made = node.attachment()
    made.add(made.conf(runtimeConfig={"dns": {"Servers": ["192.0.2.53"], "Searches": None, "Options": None}})).result()
    expect(made.result.get("dns", {}).get("nameservers") == ["192.0.2.53"], f"dns {made.result.get('dns')}")


@case("CAP-10", "SHOULD", "0.3.0")
def device(node):
    """deviceID of PCI and auxiliary devices, and CNIDeviceInfoFile, are accepted"""
    need_capability(node, "deviceID")
    for value in ("0000:03:00.2", "mlx5_core.sf.4"):
        made = node.attachment()
        wish = {"deviceID": value, "CNIDeviceInfoFile": "/run/node/device.json"}
        made.add(made.conf(runtimeConfig=wish)).result()
        made.delete().silent()


@case("CAP-11", "MAY", "0.3.0")
def of_others(node):
    """aliases, ipRanges, infinibandGUID, cgroupPath are accepted, and ignored if not declared"""
    made = node.attachment()
    others = {"aliases": ["a", "b"], "infinibandGUID": "c2:11:22:33:44:55:66:77", "cgroupPath": "/kubelet.slice/a",
              "io.kubernetes.cri.pod-annotations": {"a": "b"}}
    made.add(made.conf(runtimeConfig=others)).result()
    if not has_ipam(node):
        made = node.attachment()
        made.add(made.conf(runtimeConfig={"ipRanges": [[{"subnet": "10.98.0.0/24"}]]})).result()


@case("CAP-12", "REF", "0.3.0")
def precedence(node):
    """runtimeConfig wins over args.cni, and that over CNI_ARGS"""
    need_capability(node, "mac")
    made = node.attachment()
    args = joined(made, "IgnoreUnknown=1", f"MAC={MACS[2]}")
    third = {"args": {"cni": {"mac": MACS[1]}}}
    if node.pods:
        made.add(made.conf(**third, runtimeConfig={"mac": made.pod.plan.mac}), CNI_ARGS=args).result()
        return
    made.add(made.conf(**third, runtimeConfig={"mac": MACS[0]}), CNI_ARGS=args).result()
    has_mac(made, MACS[0])
    made = node.attachment()
    made.add(made.conf(**third), CNI_ARGS=args).result()
    has_mac(made, MACS[1])


@case("CAP-13", "REF", "0.3.0", each=True)
def absence_is_normal(node):
    """a capability's value may be absent, runtimeConfig empty or null"""
    for conf in ({"runtimeConfig": {}}, {"capabilities": None}):
        made = node.attachment()
        made.add(made.conf(**conf)).result()
    made = node.attachment()
    made.add({**made.conf(), "runtimeConfig": None}).result()
