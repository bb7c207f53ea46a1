"""ERR: errors as runtimes and people read them."""
import signal

from cni_conformance.case import case
from cni_conformance.delegate import Delegate, add_that_waits
from cni_conformance.needs import need, need_ipam, need_no_agents
from harness.expectation import expect


def some_errors(node):
    """{code: answer} of one failing call for each code that any plugin has."""
    made = node.attachment()
    return [(1, made.add(made.conf(cniVersion="9.9.9"))), (4, made.call("NONSENSE")), (4, made.add(CNI_IFNAME="a/b")),
            (6, made.call("ADD", b"junk")), (7, made.add(made.conf(name=None)))]


@case("ERR-01", "SHOULD", each=True)
def members(node):
    """an error has cniVersion, that in use, code and msg"""
    for code, answer in some_errors(node):
        error = answer.error()
        said = error.get("cniVersion")
        wanted = None if code in (1, 6) else node.version
        expect(isinstance(said, str) and said, f"no cniVersion: {answer}")
        expect(wanted in (None, said), f"cniVersion {said}, not {wanted}: {answer}")
        expect(set(error) <= {"cniVersion", "code", "msg", "details"}, f"members {sorted(error)}")


@case("ERR-02", "MUST", "0.2.0", each=True)
def codes(node):
    """codes 1, 4, 6, 7 as the specification has them"""
    for code, answer in some_errors(node):
        answer.error(code)


@case("ERR-03", "MUST", each=True)
def exit_status(node):
    """every error exits with another status than 0"""
    for _, answer in some_errors(node):
        expect(answer.status > 0, str(answer))


@case("ERR-04", "MUST", each=True)
def on_stdout(node):
    """the error is on stdout"""
    for _, answer in some_errors(node):
        answer.document()


@case("ERR-05", "HARD")
def never_nothing(node):
    """a failure is never without words: stopped by SIGTERM while it works, it answers an error from 100, or 11"""
    made, process, _ = add_that_waits(node)
    process.send_signal(signal.SIGTERM)
    answer = node.finish_call(process, "ADD")
    expect(answer.stdout.strip(), f"killed by SIGTERM without a word: {answer}")
    answer.error([11, *range(100, 1000)])
    made.expect_gone("after a stopped ADD")


def error_of_del(node):
    """A DEL that fails."""
    if node.pods:
        made = node.added()
        node.ovs.stop()
        return made.delete()
    need_ipam(node)
    delegate = Delegate(node)
    made = delegate.attachment()
    made.add().result()
    delegate.fail("DEL", 123, "no release today")
    return made.delete()


@case("ERR-06", "REF")
def words_that_hide_errors(node):
    """a DEL error has no "not found" nor "no such file or directory", with which go-cni takes it for success"""
    answer = error_of_del(node)
    error = answer.error()
    text = (error["msg"] + " " + error.get("details", "")).lower()
    for words in ("not found", "no such file or directory"):
        expect(words not in text, str(answer))


@case("ERR-07", "HARD")
def no_secrets(node):
    """msg and details have no token, and name pod, interface and cause"""
    need(node, "pods")
    need_no_agents(node)
    made = node.attachment()
    node.pods.token.write_text("other-token-51d0e2")
    answer = made.add()
    error = answer.error()
    text = (answer.stdout + answer.stderr).decode()
    expect(node.pods.token.read_text() not in text and "Bearer" not in text, "the token is told")
    said = error["msg"] + " " + error.get("details", "")
    for words in (made.pod.name, made.ifname):
        expect(words in said, f"does not name {words}: {answer}")
