"""DLG: plugins that ours executes."""
import shutil
from pathlib import Path

from cni_conformance.add import unusable
from cni_conformance.case import case
from cni_conformance.delegate import Delegate, ipam_result
from cni_conformance.needs import need_ipam
from harness.expectation import expect


@case("DLG-01", "MUST")
def search(node):
    """found by CNI_PATH, separated by colons: the first regular file"""
    need_ipam(node)
    first, second = Delegate(node), Delegate(node)
    path = f"/nowhere::{first.path}:{second.path}:{node.cni_path}"
    first.attachment().add(CNI_PATH=path).result()
    expect(first.commands() == ["ADD"] and not second.commands(), "not the first was executed")
    first.forget()
    first.file.unlink()
    first.file.mkdir()
    first.attachment().add(CNI_PATH=path).result()
    expect(second.commands() == ["ADD"], "a folder of that name ended the search")
    shutil.rmtree(first.file)
    Path(first.path, "fake-ipam").write_text("not executable")
    first.attachment().add(CNI_PATH=f"/nowhere:{second.path}:{node.cni_path}").result()


@case("DLG-02", "MUST", each=True)
def environment_and_configuration(node):
    """the same environment, and the complete configuration on stdin"""
    need_ipam(node)
    delegate = Delegate(node)
    made = delegate.attachment()
    conf = made.conf(args={"other": 1}, unknown={"a": [1, 2.5, None, "é"]}, runtimeConfig={"aliases": ["a"]})
    made.add(conf, OTHER_VARIABLE="kept", CNI_ARGS="IgnoreUnknown=1;A=b").result()
    _, env, stdin = next(call for call in delegate.calls() if call[0] == "ADD")
    expect(stdin == conf, f"the delegate's configuration is {stdin}")
    for name, value in made.environment("ADD", OTHER_VARIABLE="kept", CNI_ARGS="IgnoreUnknown=1;A=b").items():
        expect(env.get(name) == value or name == "PWD", f"the delegate's {name} is {env.get(name)}")


@case("DLG-03", "SHOULD", "1.0.0")
def standard_error(node):
    """the delegate's stderr goes to ours"""
    need_ipam(node)
    delegate = Delegate(node, extra="echo words of the delegate >&2")
    answer = delegate.attachment().add()
    answer.result()
    expect(b"words of the delegate" in answer.stderr, "they are not on stderr")


@case("DLG-04", "MUST", "1.0.0", each=True)
def every_command(node):
    """CHECK, DEL, GC, STATUS are executed on the delegate, errors returned"""
    need_ipam(node)
    delegate = Delegate(node)
    made = delegate.attachment()
    made.add().result()
    own = {"containerID": made.container_id, "ifname": made.ifname}
    confs = {"CHECK": made.with_result(), "DEL": made.with_result()}
    if node.at_least("1.1.0"):
        confs = {"CHECK": made.with_result(), "GC": {**delegate.conf(), "cni.dev/valid-attachments": [own]},
                 "STATUS": delegate.conf(), "DEL": made.with_result()}
    for command, conf in confs.items():
        delegate.fail(command, 123, f"{command} went wrong")
        made.call(command, conf).error(names=[f"{command} went wrong"])
    expect(delegate.commands() == ["ADD", *confs], f"the delegate got {delegate.commands()}")
    delegate.do("DEL", "")
    made.delete().silent()


@case("DLG-05", "SHOULD", "0.3.0", each=True)
def delegate_is_undone(node):
    """ADD fails after the delegate succeeded: the delegate gets a DEL"""
    need_ipam(node)
    delegate = unusable(node)
    delegate.attachment().add().error()
    expect(delegate.commands() == ["ADD", "DEL"], f"the delegate got {delegate.commands()}")


@case("DLG-06", "MUST", "0.3.0", each=True)
def error_is_passed_on(node):
    """the delegate's code, msg and details are passed on"""
    need_ipam(node)
    delegate = Delegate(node)
    delegate.fail("ADD", 123, "the pool is dry", "pool 5")
    error = delegate.attachment().add().error(123, ["the pool is dry", "pool 5"])
    expect("the pool is dry" in error["msg"], f"msg is {error['msg']}")


@case("DLG-07", "HARD", "0.3.0", slow=True)
def hangs_and_junk(node):
    """a delegate that prints junk, prints nothing, dies or hangs: error 6 or from 100 in bounded time, undone"""
    need_ipam(node)
    before = node.remains()
    for shell in ("echo junk", "echo '[]'", ":", "echo junk; exit 1", "exit 7", "kill -9 $$", "exec sleep 1000",
                  "head -c 20000000 /dev/zero"):
        delegate = Delegate(node)
        delegate.do("ADD", shell)
        made = delegate.attachment()
        # containerd and the kubelet give up after 4 minutes, and an ADD may take what is left of it.
        answer = node.call(made.conf(), made.environment("ADD"), seconds=90)
        answer.error([6, 11, *range(100, 1000)])
        made.expect_gone(f"after ADD whose delegate does {shell}")
        node.expect_only(before, f"after ADD whose delegate does {shell}")


@case("DLG-08", "REF", "0.3.0", each=True)
def no_address(node):
    """a delegate's result without address is an error"""
    need_ipam(node)
    delegate = Delegate(node)
    delegate.answer("ADD", ipam_result(node.version))
    delegate.attachment().add().error()


@case("DLG-09", "REF", "0.3.0", each=True)
def interface_is_there(node):
    """the delegate is asked while the interface is there and up, as dhcp needs it, by ADD and DEL"""
    need_ipam(node)
    delegate = Delegate(node, extra='nsenter --net="$CNI_NETNS" ip -o link show up dev "$CNI_IFNAME" >"$call/link" 2>&1')
    made = delegate.attachment()
    made.add().result()
    mac = made.link()["address"]
    made.delete().silent()
    for (command, _, _), folder in zip(delegate.calls(), delegate.folders()):
        if command != "VERSION":
            seen = (folder / "link").read_text()
            expect(mac in seen, f"at its {command} the delegate saw {seen}")
