"""libcni, by a client of its own: the versions of the specification that it asks for, in both modes."""
import json
import os
from pathlib import Path
from subprocess import CalledProcessError

from harness.pod import Plan
from harness.process import run
from runtimes import node

SOURCE = Path("tests/runtimes/libcni_client.go")
CLIENT = Path("build/runtimes/libcni-client")
CONFLIST = Path("/run/node/kuryr.conflist")
VERSIONS = ("0.3.1", "0.4.0", "1.0.0")


def build():
    """On the machine itself, where it is not there: a node has no cache."""
    if CLIENT.exists() and CLIENT.stat().st_mtime > SOURCE.stat().st_mtime:
        return
    CLIENT.parent.mkdir(parents=True, exist_ok=True)
    go = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    run("/usr/bin/go", "build", "-o", CLIENT, SOURCE, env=os.environ | go)


def check(facts):
    node.start_open_vswitch()
    api = node.start_api_server()
    os.environ["CNI_PATH"] = "/opt/cni/bin"
    local = json.loads(Path("etc/10-kuryr-local.conflist").read_text())["plugins"]
    for number, version in enumerate(VERSIONS, 11):
        pod = api.create_pod(f"pod-{number}", Plan(number))
        _write(version, [{"type": "kuryr-cni"}])
        _round(facts, f"{version}, API mode", f"api-{number}", pod.arguments, pod.plan.cidr)
        _write(version, local)
        _round(facts, f"{version}, local mode", f"local-{number}", [], None)


def _write(version, plugins):
    CONFLIST.write_text(json.dumps({"cniVersion": version, "name": "kuryr", "plugins": plugins}))


def _round(facts, what, container, arguments, address):
    """The life of one attachment. `address`: the one it has to get."""
    netns = f"/run/netns/{container}"
    run(f"ip netns add {container}")

    def client(operation, netns=netns):
        return run(CLIENT, operation, CONFLIST, container, netns, *arguments)

    with facts.fact(f"{what}: add answers what is in the namespace", basis=True):
        result = json.loads(client("add"))
        (told,) = [ip["address"] for ip in result["ips"] if "." in ip["address"]]
        assert told == (address or told), result
        assert result["cniVersion"] == what.split(",")[0], result
        link = json.loads(run(f"ip -json -netns {container} address show eth0"))[0]
        found = [f"{ip['local']}/{ip['prefixlen']}" for ip in link["addr_info"]]
        assert told in found, f"{told} is not among {found}"
        assert link["address"] == [i["mac"] for i in result["interfaces"] if i.get("sandbox")][0], result
    if not what.startswith("0.3"):
        with facts.fact(f"{what}: check agrees"):
            client("check")
        with facts.fact(f"{what}: check finds an address that is gone"):
            run(f"ip -netns {container} address flush dev eth0")
            try:
                client("check")
            except CalledProcessError as refused:
                assert "addr" in refused.stderr, refused.stderr
            else:
                raise AssertionError("check succeeded")
    with facts.fact(f"{what}: del twice, then without namespace, and nothing is left"):
        client("del")
        client("del")
        run(f"ip netns delete {container}")
        client("del", "")
        node.check_clean()
