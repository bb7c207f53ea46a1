"""CFG: the network configuration on standard input."""
import json
import os
import subprocess

from cni_conformance.case import case
from cni_conformance.delegate import Delegate, ipam_result
from cni_conformance.needs import has_ipam, need_field, need_ipam
from harness.expectation import expect
from harness.process import run
from harness.result_form import addresses


def refused(node, stdin, *codes, names=()):
    made = node.attachment()
    made.call("ADD", stdin).error(codes, names)
    made.expect_gone("after a refused ADD")


@case("CFG-01", "MUST")
def empty_stdin(node):
    """empty stdin is error 6, an unreadable one error 5"""
    refused(node, b"", 6)
    made = node.attachment()
    folder = os.open("/", os.O_RDONLY)
    process = subprocess.Popen([node.target.plugin], stdin=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=made.environment("ADD"), cwd="/")
    node.finish_call(process, "ADD").error(5)


@case("CFG-02", "MUST")
def no_json(node):
    """what is not JSON is error 6"""
    for text in (b"junk", b"{", b'{"name": }', b"\0"):
        refused(node, text, 6)


@case("CFG-03", "MUST")
def other_json(node):
    """JSON that is no object is error 6"""
    for text in (b"[]", b'"text"', b"null", b"1", b"true"):
        refused(node, text, 6)


@case("CFG-04", "MUST", each=True)
def name_missing(node):
    """without name: error 7"""
    refused(node, node.conf(name=None), 7)
    refused(node, node.conf(name=""), 7)


@case("CFG-05", "MUST", "0.4.0", each=True)
def bad_names(node):
    """a name with other characters than a container id's is error 7"""
    for name in ("../a", "a/b", "-a", ".a", "a b", "a:b"):
        refused(node, node.conf(name=name), 7)


@case("CFG-06", "MAY", "0.2.0")
def unknown_fields(node):
    """unknown fields are tolerated, or refused with code 2, key and value"""
    made = node.attachment()
    answer = made.add(made.conf(strange_field="strange value"))
    if not answer.succeeded():
        answer.error(2, ["strange_field", "strange value"])


@case("CFG-07", "REF", "0.3.0", each=True)
def leftover_capabilities(node):
    """a capabilities object that the runtime did not remove is tolerated"""
    made = node.attachment()
    made.add(made.conf(capabilities={"portMappings": True, "aliases": True, "mac": True, "other": True})).result()


@case("CFG-08", "SHOULD", "0.2.0", each=True)
def foreign_args(node):
    """what args has for others is ignored"""
    made = node.attachment()
    args = {"cni": {"other": [1]}, "org.example": {"any": "thing"}, "labels": [{"key": "a"}]}
    made.add(made.conf(args=args)).result()


@case("CFG-09", "MUST")
def own_fields_of_wrong_type(node):
    """a field of the plugin's own with a wrong type is error 7 that names it"""
    own = [key for key, value in node.target.conf.items()
           if key not in ("cniVersion", "name", "type", "ipam", "capabilities") and isinstance(value, (bool, int, str))]
    for key in own or need_field(node, "any own field"):
        bad = {"wrong": "type"} if not isinstance(node.target.conf[key], str) else 5
        refused(node, node.conf(**{key: bad}), 7, names=[key])
    if "kuryr" in node.target.conf:
        for key, bad in (("vif", "junk"), ("vif", 5), ("bridge", 5), ("vlan", 5000), ("vlan", "7"), ("vlan", 1.5),
                         ("vlanId", 7)):
            refused(node, node.conf(kuryr={**node.target.conf["kuryr"], key: bad}), 7, names=[key])


@case("CFG-10", "MUST", "1.0.0")
def path_separators_in_types(node):
    """type and ipam.type with path separators are error 7 and never executed"""
    refused(node, node.conf(type="../" + node.target.conf.get("type", "x")), 7)
    if not has_ipam(node):
        return
    delegate = Delegate(node)
    for name in (str(delegate.file), f"../{delegate.folder.name}/{delegate.name}"):
        made = delegate.attachment()
        made.call("ADD", node.conf(ipam={"type": name})).error(7)
        expect(not delegate.calls(), f"ipam.type {name} was executed")


@case("CFG-11", "HARD")
def strange_json(node):
    """duplicate keys, deep nesting, over 1 MiB, bad UTF-8, lone surrogates, huge numbers: an answer, no crash"""
    plain = json.dumps(node.conf())[:-1].encode()
    strange = [
        b', "name": "twice"', b', "x": ' + b"[" * 65 + b"]" * 65, b', "x": ' + b'{"a":' * 20000 + b"1" + b"}" * 20000,
        b', "x": "' + b"y" * (1 << 21) + b'"', b', "x": "\xff\xfe"', b', "x": "\\ud800"', b', "x": 18446744073709551616',
        b', "x": 1e400', b', "mtu": 1e3', b', "mtu": -9223372036854775809', b', "x": "\0"', b', "\\u0000": 1',
    ]
    for more in strange:
        made = node.attachment()
        answer = made.call("ADD", plain + more + b"}")
        expect(answer.status >= 0, f"killed by a signal: {answer}")
        answer.result() if answer.succeeded() else answer.error()
        made.call("DEL").silent()
        made.expect_gone(f"after ADD with {more[:40]!r} and DEL")


@case("CFG-12", "REF", "0.3.0", each=True)
def dns_of_configuration(node):
    """dns of the configuration wins over the delegate's; else the delegate's is given"""
    need_ipam(node)
    theirs, ours = {"nameservers": ["192.0.2.1"]}, {"nameservers": ["192.0.2.53"], "search": ["example.org"]}
    delegate = Delegate(node)
    delegate.answer("ADD", ipam_result(node.version, "10.99.0.7/24", dns=theirs))
    made = delegate.attachment()
    expect(made.add().result().get("dns") == theirs, f"dns is {made.result.get('dns')}, the delegate said {theirs}")
    made.delete().silent()
    made = delegate.attachment()
    made.add(made.conf(dns=ours)).result()
    expect(made.result.get("dns") == ours, f"dns is {made.result.get('dns')}, the configuration says {ours}")


@case("CFG-13", "SHOULD")
def masquerading(node):
    """ipMasq is done or refused with code 2, not dropped"""
    made = node.attachment()
    answer = made.add(made.conf(ipMasq=True))
    if not answer.succeeded():
        answer.error(2, ["ipMasq"])
        return
    rules = run("nft", "list", "ruleset", check=False) + run("iptables-save", check=False)
    expect("masquerade" in rules.lower(), "ipMasq is accepted, and nothing masquerades")
    made.delete(made.with_result(conf=made.conf(ipMasq=True))).silent()
    rules = run("nft", "list", "ruleset", check=False) + run("iptables-save", check=False)
    mine = [address.split("/")[0] for address in addresses(made.result)]
    expect(not any(address in rules for address in mine), "rules of the container are left")


@case("CFG-14", "MUST", "1.1.0")
def keys_of_the_runtime(node):
    """unknown keys that begin with cni.dev/ are ignored"""
    made = node.attachment()
    made.add(made.conf(**{"cni.dev/unknown": {"a": 1}})).result()
    node.status(node.conf(**{"cni.dev/other": []})).silent()


@case("CFG-15", "HARD", "0.4.0")
def configuration_changed_before_del(node):
    """a configuration that changed between ADD and DEL still cleans up what ADD made"""
    before = node.remains()
    made = node.added()
    changed = {"mtu": 1300, "bridge": "other0", "hairpinMode": False}
    if "kuryr" in node.target.conf:
        changed["kuryr"] = {"vif": "bridge" if node.ovs else "ovs", "bridge": "other0"}
        changed["ipam"] = {"type": "no-such-ipam"}
    made.delete(made.with_result(conf=made.conf(**changed))).silent()
    made.expect_gone()
    node.expect_only(before)
