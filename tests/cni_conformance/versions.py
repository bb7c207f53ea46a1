"""VER: VERSION, and the versions that plugin and configuration speak."""
from cni_conformance.case import NotApplicable, case
from cni_conformance.needs import need_version
from harness.expectation import expect
from harness.result_form import VERSIONS
from harness.result_form import NEW_INTERFACE_KEYS, NEW_ROUTE_KEYS


@case("VER-01", "MUST", "0.2.0")
def version_answers(node):
    """VERSION answers cniVersion and supportedVersions"""
    answer = node.command("VERSION").result()
    expect(isinstance(answer.get("cniVersion"), str), "no cniVersion")
    listed = answer.get("supportedVersions")
    expect(isinstance(listed, list) and listed and all(isinstance(v, str) for v in listed), "no supportedVersions")


@case("VER-02", "MUST", "1.0.0", each=True)
def version_repeats_input(node):
    """VERSION's cniVersion is that of the input"""
    said = node.command("VERSION", {"cniVersion": node.version}).result()["cniVersion"]
    expect(said == node.version, f"cniVersion {said}")


@case("VER-03", "REF", "0.2.0")
def version_as_libcni_asks(node):
    """VERSION works with empty stdin and with CNI_NETNS, CNI_IFNAME, CNI_PATH dummy and no container id"""
    dummy = {"CNI_NETNS": "dummy", "CNI_IFNAME": "dummy", "CNI_PATH": "dummy", "CNI_CONTAINERID": ""}
    for stdin in ({"cniVersion": "1.0.0"}, b""):
        expect(node.command("VERSION", stdin, **dummy).result().get("supportedVersions"), "no supportedVersions")


FOREIGN = ("9.9.9", "0.0.1", "2.0.0")


@case("VER-04", "MUST", "0.2.0")
def add_of_unsupported_version(node):
    """ADD with a version that is not supported: error 1, which names it and the supported ones"""
    for version in FOREIGN:
        made = node.attachment()
        made.add(made.conf(cniVersion=version)).error(1, [version, *node.target.supported])
        made.expect_gone()


@case("VER-05", "MUST", "0.2.0")
def others_of_unsupported_version(node):
    """the same for DEL, CHECK, GC and STATUS"""
    made = node.added()
    conf = made.conf(cniVersion=FOREIGN[0])
    commands = ["DEL", "CHECK"] + (["GC", "STATUS"] if node.at_least("1.1.0") else [])
    for command in commands:
        more = {"prevResult": made.result} if command in ("DEL", "CHECK") else {"cni.dev/valid-attachments": []}
        made.call(command, {**conf, **more}).error(1)
    expect(made.present(), "an unsupported version was obeyed")


@case("VER-06", "MUST", each=True)
def result_has_the_version_of_the_input(node):
    """x7: the result's cniVersion is the input's"""
    said = node.added().result.get("cniVersion")
    expect(said == node.version, f"cniVersion {said}")


@case("VER-07", "REF", until="0.1.0")
def no_version_means_the_first(node):
    """absent or empty cniVersion means 0.1.0"""
    for version in (None, ""):
        made = node.attachment()
        result = made.add(made.conf(cniVersion=version)).result()
        expect("ip4" in result or "ip6" in result, f"no ip4 nor ip6: {result}")
        expect("ips" not in result and "interfaces" not in result, f"of a later version: {result}")
        expect(result.get("cniVersion", "0.1.0") == "0.1.0", f"cniVersion {result.get('cniVersion')}")


@case("VER-08", "MUST", until="0.3.1", each=True)
def check_is_of_0_4(node):
    """CHECK with a version before 0.4.0 is error 1"""
    need_version(node, "0.4.0")
    made = node.added()
    made.call("CHECK", made.conf(prevResult=made.result)).error(1)


@case("VER-09", "MUST", until="1.0.0", each=True)
def gc_is_of_1_1(node):
    """GC with a version before 1.1.0 is error 1"""
    need_version(node, "1.1.0")
    made = node.added()
    node.gc().error(1)
    expect(made.present(), "it was collected all the same")


@case("VER-10", "MUST", until="1.0.0", each=True)
def status_is_of_1_1(node):
    """STATUS with a version before 1.1.0 is error 1"""
    need_version(node, "1.1.0")
    node.status().error(1)


@case("VER-11", "MUST")
def version_of_wrong_type(node):
    """cniVersion that is no string is error 6"""
    for bad in (1, 1.0, ["1.0.0"], {}, True):
        made = node.attachment()
        made.add(made.conf(cniVersion=bad)).error(6)
        made.expect_gone()


@case("VER-12", "REF")
def version_is_exact_text(node):
    """1.0, v1.0.0 and 1.0.0-rc1 are no 1.0.0: error 1"""
    for bad in ("1.0", "v1.0.0", "1.0.0-rc1", " 1.0.0", "1.0.0 "):
        made = node.attachment()
        made.add(made.conf(cniVersion=bad)).error(1)


@case("VER-13", "REF")
def list_of_versions_is_ignored(node):
    """cniVersions on stdin, meant for the runtime, is ignored"""
    made = node.attachment()
    made.add(made.conf(cniVersions=["0.1.0", "9.9.9"])).result()
    expect(made.result["cniVersion"] == node.version, f"cniVersion {made.result['cniVersion']}")


@case("VER-14", "HARD", until="1.0.0", each=True)
def no_new_keys_in_old_answers(node):
    """no key of 1.1.0 is in an answer of 1.0.0 or before"""
    if node.target.supported[-1] != VERSIONS[-1]:
        raise NotApplicable("the plugin does not know 1.1.0")
    result = node.added().result
    for interface in result.get("interfaces", []):
        expect(not NEW_INTERFACE_KEYS & set(interface), f"interface {interface}")
    for route in result.get("routes", []):
        expect(not NEW_ROUTE_KEYS & set(route), f"route {route}")
