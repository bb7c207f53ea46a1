"""ENV: the process protocol: environment, standard streams, exit status."""
import itertools
import json
import os
import shutil
import subprocess

from cni_conformance.case import NotApplicable, case
from harness.expectation import expect
from harness.namespaces import WORK
from harness.process import run


@case("ENV-01", "REF")
def no_command(node):
    """no CNI_COMMAND: error 4, or an about text on stderr alone"""
    answer = node.call(node.conf(), node.environment(None))
    if answer.succeeded():
        expect(answer.stderr.strip() and not answer.stdout.strip(), f"neither error nor about text: {answer}")
    else:
        answer.error(4)


@case("ENV-02", "MUST", each=True)
def unknown_command(node):
    """an unknown CNI_COMMAND is error 4"""
    for command in ("FOO", "add", "ADD "):
        node.attachment().call(command).error(4)


def missing(node, commands, name):
    made = node.added()
    for command in commands:
        if command == "CHECK" and not node.at_least("0.4.0"):
            continue
        for value in (None, ""):
            answer = node.call(made.with_result(), made.environment(command, **{name: value}))
            answer.error(4 if node.at_least("1.0.0") or name != "CNI_CONTAINERID" else None, [name])


@case("ENV-03", "MUST", "0.4.0", each=True)
def container_id_missing(node):
    """CNI_CONTAINERID missing or empty: error that names it, code 4"""
    missing(node, ("ADD", "CHECK", "DEL"), "CNI_CONTAINERID")


@case("ENV-04", "MUST", each=True)
def netns_missing(node):
    """ADD, CHECK without CNI_NETNS: error 4 that names it"""
    missing(node, ("ADD", "CHECK"), "CNI_NETNS")


@case("ENV-05", "MUST", each=True)
def ifname_missing(node):
    """ADD, CHECK, DEL without CNI_IFNAME: error 4 that names it"""
    missing(node, ("ADD", "CHECK", "DEL"), "CNI_IFNAME")


@case("ENV-06", "MUST", "1.0.0", each=True)
def all_missing_are_named(node):
    """several variables missing: one message names them all"""
    names = ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME")
    node.call(node.conf(), node.environment("ADD")).error(4, names)


@case("ENV-07", "MUST", "0.4.0", each=True)
def bad_container_ids(node):
    """a-f: a CNI_CONTAINERID that does not start alphanumeric, or has other characters, is error 4"""
    for bad in ("-a", ".a", "_a", "a/b", "a b", "a:b", "../a", "aé"):
        made = node.attachment(container_id=bad)
        made.add().error(4)
        made.expect_gone(f"after ADD with CNI_CONTAINERID {bad!r}")


@case("ENV-08", "MUST", "0.4.0")
def good_container_ids(node):
    """every allowed character and length of CNI_CONTAINERID is accepted"""
    for good in ("a", "0", "Za.9_-x", "default-c1", "f" * 64, "a" + "_" * 99, "a.", "a-"):
        made = node.added(container_id=good)
        made.delete().silent()


@case("ENV-09", "MUST", each=True)
def bad_interface_names(node):
    """a-g: a CNI_IFNAME that Linux would refuse is error 4"""
    for bad in ("a" * 16, ".", "..", "a/b", "a:b", "a b", "a\tb", "a\nb"):
        node.attachment(ifname=bad).add().error(4)


@case("ENV-10", "MUST", each=True)
def longest_interface_name(node):
    """a name of 15 bytes works"""
    made = node.added(ifname="abcdefghijklmno")
    expect(made.present(), "no interface of that name")
    made.delete().silent()
    made.expect_gone()


@case("ENV-11", "MUST", "0.4.0", each=True)
def path_is_optional(node):
    """without delegate, ADD, CHECK and DEL work without CNI_PATH"""
    made = node.attachment(conf={"ipam": None})
    made.add(CNI_PATH=None).result()
    made.check(CNI_PATH=None).silent()
    made.delete(CNI_PATH=None).silent()
    made.expect_gone()


@case("ENV-12", "MUST", "1.0.0", each=True)
def invalid_is_named(node):
    """an invalid variable is named in the message, as a missing one is"""
    node.attachment(ifname="a" * 16).add().error(4, ["CNI_IFNAME"])
    node.attachment(container_id="-a").add().error(4, ["CNI_CONTAINERID"])


@case("ENV-13", "MUST", "0.4.0", each=True)
def netns_is_optional_for_del(node):
    """CNI_NETNS is optional for DEL; unset and empty are the same"""
    for value in (None, ""):
        node.added().delete(CNI_NETNS=value).silent()


@case("ENV-14", "MUST", "1.1.0")
def gc_and_status_need_little(node):
    """STATUS and GC need no attachment variables, set or empty; STATUS no CNI_PATH either"""
    empty = {"CNI_CONTAINERID": "", "CNI_NETNS": "", "CNI_IFNAME": "", "CNI_ARGS": ""}
    for env in ({}, empty):
        node.status(**env).silent()
        node.gc(**env).silent()
    node.status(node.conf(ipam=None), CNI_PATH=None).silent()


@case("ENV-15", "REF")
def large_environment(node):
    """a large environment of the runtime's is inherited without harm"""
    other = {f"RUNTIME_VARIABLE_{i}": "x" * 1000 for i in range(800)}
    made = node.attachment()
    made.add(**other).result()
    made.delete(**other).silent()


def joined(made, *pairs):
    """CNI_ARGS of an attachment, with more."""
    return ";".join(([made.args] if made.args else []) + list(pairs))


@case("ENV-16", "REF")
def arguments_in_any_order(node):
    """CNI_ARGS may be empty, and its pairs come in any order"""
    if not node.pods:
        node.attachment().add(CNI_ARGS="").result()
    for order in itertools.permutations(("IgnoreUnknown=1", "K8S_POD_NAME=a", "X_OTHER=b")):
        made = node.attachment()
        known = [pair for pair in (made.args or "").split(";") if pair and not pair.startswith("IgnoreUnknown")]
        mine = [pair for pair in order if not (node.pods and pair.startswith("K8S_"))]
        made.add(CNI_ARGS=";".join(mine[:1] + known + mine[1:])).result()


@case("ENV-17", "REF")
def malformed_arguments(node):
    """a pair of CNI_ARGS without exactly one = is an error, an unknown key too unless IgnoreUnknown says so"""
    for bad in ("NOVALUE", "A=B=C"):
        made = node.attachment()
        made.add(CNI_ARGS=joined(made, "IgnoreUnknown=1", bad)).error()
        made.expect_gone()
    for word in ("1", "true", "0", None):
        made = node.attachment()
        known = [pair for pair in (made.args or "").split(";") if pair and not pair.startswith("IgnoreUnknown")]
        pairs = known + ["X_OTHER=b"] + ([f"IgnoreUnknown={word}"] if word else [])
        answer = made.add(CNI_ARGS=";".join(pairs))
        if word in ("1", "true"):
            answer.result()
        else:
            answer.error()
            made.expect_gone()


def as_containerd_cri(node):
    made = node.attachment()
    if not made.args:
        made.args = ("K8S_POD_NAMESPACE=default;K8S_POD_NAME=a8;K8S_POD_UID=c0c7d840-b308-4f56-86dd-60901c809d0a;"
                     f"K8S_POD_INFRA_CONTAINER_ID={made.container_id};IgnoreUnknown=1")
    made.add().result()
    made.delete().silent()


@case("ENV-18", "REF")
def arguments_of_containerd(node):
    """containerd's CNI_ARGS: IgnoreUnknown, K8S_POD_NAMESPACE, _NAME, _INFRA_CONTAINER_ID, _UID"""
    as_containerd_cri(node)


@case("ADD-09", "REF")
def arguments_of_containerd_at_add(node):
    """see ENV-18"""
    as_containerd_cri(node)


@case("ENV-19", "MUST", each=True)
def exit_status(node):
    """exit status 0 on success, another on failure"""
    made = node.added()
    expect(made.delete().status == 0, "DEL of an attachment does not exit 0")
    expect(made.call("NONSENSE").status != 0, "an unknown command exits 0")
    expect(made.add(CNI_NETNS="/nowhere").status != 0, "ADD into no namespace exits 0")


@case("ENV-20", "MUST", each=True)
def nothing_but_results(node):
    """stdout has the result of ADD and VERSION and nothing else; DEL, CHECK, GC, STATUS say nothing there"""
    made = node.added()
    node.command("VERSION").result()
    if node.at_least("0.4.0"):
        made.check().silent()
    made.delete().silent()
    if node.at_least("1.1.0"):
        node.gc().silent()
        node.status().silent()


@case("ENV-21", "REF", "1.0.0")
def trace_context(node):
    """TRACEPARENT, TRACESTATE, BAGGAGE are taken or ignored, malformed ones ignored"""
    for parent in ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "junk", "", "00-" + "0" * 5000):
        made = node.attachment()
        made.add(TRACEPARENT=parent, TRACESTATE="a=b,,=", BAGGAGE="%%%").result()
        made.delete(TRACEPARENT=parent).silent()


@case("ENV-22", "REF")
def works_where_the_runtime_is(node):
    """host ends are made in the runtime's network namespace, and nowhere else"""
    if node.ovs:
        raise NotApplicable("its switch is in the node's namespace, so is its runtime")
    before = set(node.links())
    run("ip", "netns", "add", "runtime")
    runtime = WORK / "in-runtime"
    runtime.write_text(f'#!/bin/sh\nexec nsenter --net=/run/netns/runtime "{node.target.plugin}"\n')
    runtime.chmod(0o755)
    made = node.attachment()
    made.call("ADD", plugin=str(runtime)).result()
    expect(made.present(), "no interface in the container")
    expect(set(node.links()) == before, "links appeared in the node's namespace")
    ends = run("ip", "-n", "runtime", "-br", "link").split("\n")
    expect(any("@" in line for line in ends), "no host end in the runtime's namespace")
    made.call("DEL", plugin=str(runtime)).silent()
    made.expect_gone()


@case("ENV-23", "REF")
def replaced_while_running(node):
    """the file is replaced by rename while it runs; both calls end well"""
    installed, fresh = WORK / "plugin", WORK / ".plugin.new"
    shutil.copy2(node.target.plugin, installed)
    first, second = node.attachment(), node.attachment()
    # The plugin has begun, and waits for its configuration.
    reader, writer = os.pipe()
    process = subprocess.Popen([installed], stdin=reader, stdout=-1, stderr=-1, cwd="/", env=first.environment("ADD"))
    os.close(reader)
    shutil.copy2(node.target.plugin, fresh)
    os.rename(fresh, installed)
    second.call("ADD", plugin=str(installed)).result()
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(json.dumps(first.conf()).encode())
    node.finish_call(process, "ADD").result()
    expect(first.present() and second.present(), "an interface is missing")


@case("ENV-24", "REF", "0.3.0")
def own_namespace_on_request(node):
    """CNI_NETNS_OVERRIDE=1 allows an attachment in the plugin's own namespace"""
    # Without addresses: the gateway of a bridge would be in the same namespace.
    made = node.attachment(ifname="own0", conf={"ipam": None})
    made.add(CNI_NETNS="/proc/self/ns/net", CNI_NETNS_OVERRIDE="1").result()
    expect("own0" in node.links(), "no interface own0")
    made.delete(CNI_NETNS="/proc/self/ns/net", CNI_NETNS_OVERRIDE="1").silent()
    expect("own0" not in node.links(), "own0 is left")
