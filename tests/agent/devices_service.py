"""Facts of kuryr-devices as a service of systemd."""
import errno
import json
import subprocess
from pathlib import Path

from agent import sandbox, service_unit
from agent.systemd_node import DATA_FOLDERS, Journal, main_pid
from harness.process import REPOSITORY, run
from kubernetes import fake_devices

SERVICE = "kuryr-devices.service"
RESOURCE = "intel.com/sriov_net"
VFS = 2
CONF = Path("/etc/kuryr/devices.conf")
DROP_IN = f"""[Service]
ExecStart=
ExecStart=/usr/sbin/kuryr-devices --config-file {CONF}
"""
CONFIG = '{"resourceList": [{"resourceName": "sriov_net", "selectors": {"drivers": ["iavf"]}}]}'
KUBELET = Path("/var/lib/kubelet")
SOCKET = KUBELET / f"device-plugins/kuryr-{RESOURCE.replace('/', '_')}.sock"
OWN = ("/var/lib/kubelet/device-plugins", "/run/k8s.cni.cncf.io", "/var/log/kuryr-devices")
OTHERS = ("/run", "/etc", "/usr/sbin", "/var/lib/kubelet", *DATA_FOLDERS)
# Tenths, of 10 at the worst.
MOST_EXPOSURE = 25


def state(fact):
    """The facts; fact is Facts.fact."""
    service_unit.verify(fact, SERVICE, MOST_EXPOSURE)
    with fact("systemctl enable --now starts kuryr-devices before any kubelet; it is active by its own notification", basis=True):
        devices = install()
        service_unit.start(SERVICE)
    with fact("it is root without a capability, and gets none; its system calls are filtered"):
        assert service_unit.status_of(SERVICE)["Uid"].split() == ["0"] * 4, "another user"
    with fact(f"it can write below {', '.join(OWN)}, and nowhere else on the node"):
        root = Path(f"/proc/{main_pid(SERVICE)}/root")
        refused = {folder: sandbox.try_to_write(root / folder[1:]) for folder in (*OTHERS, *OWN)}
        assert refused == {**dict.fromkeys(OTHERS, errno.EROFS), **dict.fromkeys(OWN)}, refused
    with subprocess.Popen([REPOSITORY / "tests/devices/fake_kubelet.py", "serve", KUBELET], stdout=subprocess.PIPE,
                          text=True) as kubelet:
        try:
            served(fact, kubelet, devices)
        finally:
            kubelet.kill()


def served(fact, kubelet, devices):
    with fact("it registers with a kubelet that comes later, which gets its devices"):
        wait_for(kubelet, f"registered {RESOURCE} 1")
        wait_for(kubelet, listed(devices))
    with fact("kuryr-devices status shows them, and that they are served"):
        expect_status(devices)
    with fact("killed, it is started anew, and the kubelet has its devices again"):
        service_unit.kill(SERVICE)
        wait_for(kubelet, f"registered {RESOURCE} 2")
        wait_for(kubelet, listed(devices))
        expect_status(devices)
    with fact("a stop ends it in order, and tells the kubelet of no lost device"):
        with Journal(SERVICE) as journal:
            service_unit.stop(SERVICE)
            journal.wait_for(f"Stopped {SERVICE}")
        wait_for(kubelet, f"ended {RESOURCE}")
        assert not SOCKET.exists(), f"{SOCKET} is there still"


def install():
    """The addresses of the card's VFs."""
    devices = fake_devices.make_card(VFS)
    (KUBELET / "pod-resources").mkdir(parents=True)
    config = CONF.with_name("config.json")
    config.write_text(CONFIG)
    CONF.write_text(f"[devices]\nsysfs = {fake_devices.SYSFS}\nconfig_file = {config}\n")
    service_unit.drop_in(SERVICE, DROP_IN)
    return devices


def listed(devices):
    return f"devices {RESOURCE} " + ",".join(f"{device}@0" for device in devices)


def wait_for(kubelet, line):
    """Until the kubelet says so; nothing else of its devices before."""
    for said in kubelet.stdout:
        if said.startswith(line):
            return
        assert not said.startswith("devices"), said
    raise AssertionError(f"the kubelet has not said {line}")


def expect_status(devices):
    status = json.loads(run("/usr/sbin/kuryr-devices", "--config-file", str(CONF), "status", "--json"))
    assert status["gaps"] == [], status
    assert [(row["id"], row["resource"]) for row in status["devices"]] == [(device, RESOURCE) for device in devices], status
