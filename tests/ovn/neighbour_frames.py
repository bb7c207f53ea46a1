"""Frames that only routers and DHCP servers send, as a pod with NET_RAW writes them, and what arrives of them at another pod."""
import contextlib
import ipaddress
import select
import socket
import struct

from harness.namespaces import network

ETH_P_ALL, IPV4, IPV6 = 0x0003, 0x0800, 0x86dd
ICMP, IGMP, UDP, ICMPV6 = 1, 2, 17, 58
ALL_NODES = "ff02::1"
ADVERTISED = "2001:db8:66::/64"
PATIENCE_SECONDS = 30


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def packed(address):
    return ipaddress.ip_address(address).packed


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def link_local(mac):
    raw = mac_bytes(mac)
    return str(ipaddress.ip_address(b"\xfe\x80" + bytes(6) + bytes([raw[0] ^ 2]) + raw[1:3] + b"\xff\xfe" + raw[3:]))


def group_mac(address):
    raw = packed(address)
    return b"\x01\x00\x5e" + bytes([raw[1] & 0x7f]) + raw[2:] if len(raw) == 4 else b"\x33\x33" + raw[12:]


def frame(mac, to, source, target, protocol, payload):
    if ":" in target:
        header = struct.pack("!IHBB", 6 << 28, len(payload), protocol, 255) + packed(source) + packed(target)
        kind = IPV6
    else:
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + packed(source) + packed(target)
        header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
        kind = IPV4
    return to + mac_bytes(mac) + struct.pack("!H", kind) + header + payload


def checked(source, target, protocol, message, at):
    """The message of IPv6 with its checksum at this place."""
    pseudo = packed(source) + packed(target) + struct.pack("!II", len(message), protocol)
    return message[:at] + struct.pack("!H", checksum(pseudo + message)) + message[at + 2:]


def icmpv6(source, target, message):
    return checked(source, target, ICMPV6, message, 2)


def datagram(source, target):
    return struct.pack("!HHHH", source, target, 8, 0)


def advertisement(mac):
    prefix = ipaddress.ip_network(ADVERTISED)
    message = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0)
    message += struct.pack("!BBBBIII", 3, 4, prefix.prefixlen, 0xc0, 4096, 4096, 0) + prefix.network_address.packed
    source = link_local(mac)
    return frame(mac, group_mac(ALL_NODES), source, ALL_NODES, ICMPV6, icmpv6(source, ALL_NODES, message))


def of_servers(mac, own, to, target):
    """{what: frame}; own and target: {family: address}; to: the target's MAC."""
    to, everybody = mac_bytes(to), b"\xff" * 6
    redirect = icmpv6(own[6], target[6], struct.pack("!BBHI", 137, 0, 0, 0) + packed(own[6]) + packed("2001:db8::1"))
    return {
        "answer of a DHCP server": frame(mac, everybody, own[4], "255.255.255.255", UDP, datagram(67, 68)),
        "answer of a DHCP server to one": frame(mac, to, own[4], target[4], UDP, datagram(67, 68)),
        "answer of a DHCPv6 server": frame(mac, to, own[6], target[6], UDP, datagram(547, 546)),
        "redirect of IPv4": frame(mac, to, own[4], target[4], ICMP, struct.pack("!BBHI", 5, 1, 0, 0) + bytes(28)),
        "router advertisement of IPv4": frame(mac, group_mac("224.0.0.1"), own[4], "224.0.0.1", ICMP, struct.pack("!BBHI", 9, 0, 0, 0)),
        "redirect of IPv6": frame(mac, to, own[6], target[6], ICMPV6, redirect),
        "query of IGMP": frame(mac, group_mac("224.0.0.1"), own[4], "224.0.0.1", IGMP, struct.pack("!BBHI", 0x11, 0, 0, 0))}


def datagram_of(mac, source):
    """Makes frames of a datagram with this source, from the target's MAC and its addresses."""
    def make(to, targets):
        is_ipv6 = ":" in source
        target = targets[6 if is_ipv6 else 4]
        content = checked(source, target, UDP, datagram(7, 9), 6) if is_ipv6 else datagram(7, 9)
        return frame(mac, mac_bytes(to), source, target, UDP, content)
    return make


def mark(mac, own, to, target):
    """What any pod may send: it comes last."""
    return frame(mac, mac_bytes(to), own[4], target[4], UDP, datagram(7, 7))


@contextlib.contextmanager
def packet_socket(netns_path, link):
    with network(netns_path):
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    with made:
        with network(netns_path):
            made.bind((link, ETH_P_ALL))
        yield made


def arriving(source, target, frames, last):
    """The names of the frames that arrive at eth0 of a namespace, once the last one did. source: a namespace and its link."""
    names = {content: name for name, content in frames.items()} | {last: None}
    found = set()
    with packet_socket(target, "eth0") as receiver, packet_socket(*source) as sender:
        for each in (*frames.values(), last):
            sender.send(each)
        while select.select([receiver], [], [], PATIENCE_SECONDS)[0]:
            content = receiver.recv(2048)
            name = next((name for sent, name in names.items() if content.startswith(sent)), "")
            if name is None:
                return found
            if name:
                found.add(name)
    raise AssertionError("the last frame does not arrive")
