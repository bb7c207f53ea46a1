"""A node of its own: private mounts, network, processes and cgroups. Nothing of it outlives its first process."""
import json
import os
import select
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from subprocess import CalledProcessError

from facts import Skipped

PLUGIN = Path("/opt/cni/bin/kuryr-cni")
# What parts may need of the machine.
CGROUPS = ["test -e /sys/fs/cgroup/cgroup.procs"]
SHAPING = ["ip link add ifb-try type ifb", "tc qdisc add dev ifb-try root tbf rate 1mbit burst 9000 latency 25ms",
           "tc qdisc add dev ifb-try ingress", "ip link delete ifb-try"]
PACKET_FILTER = ["iptables --table nat --new-chain try", "iptables --table nat --delete-chain try"]
CALLS = Path("/run/node/calls")
STATE = Path("/run/kuryr/attachments")
RESERVATIONS = Path("/var/lib/cni/networks")
END_SECONDS = 30
KERNEL_DATAPATH = Path("/sys/module/openvswitch").exists()


def run(command, **options):
    """A command's stdout; throws with its stderr when it fails."""
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    return subprocess.run(words, check=True, text=True, capture_output=True, **options).stdout


def need(commands):
    """Skips when one of these fails: the machine lacks what they use."""
    for command in commands:
        try:
            run(command)
        except CalledProcessError as lacking:
            raise Skipped(f"{command}: {lacking.stderr.strip() or lacking.returncode}") from lacking


def cgroup_root():
    """Where the machine has its cgroup2 hierarchy."""
    for line in Path("/proc/mounts").read_text().splitlines():
        if line.split()[2] == "cgroup2":
            return Path(line.split()[1])
    return None


def spawn(arguments):
    """Runs `arguments` as the first process of a new node, and cleans up when that has ended."""
    root = cgroup_root()
    cgroup = Path(tempfile.mkdtemp(prefix="kuryr-runtimes-", dir=root)) if root else None

    def join():
        if cgroup:
            (cgroup / "cgroup.procs").write_text(str(os.getpid()))

    spaces = "--mount --net --pid --cgroup --ipc --uts --fork --kill-child --mount-proc".split()
    try:
        return subprocess.run(["unshare", *spaces, *arguments], preexec_fn=join, check=False).returncode
    finally:
        if cgroup:
            _wait_until_empty(cgroup)
            run(["find", cgroup, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"])


def _wait_until_empty(cgroup):
    """Its processes end with the first one, but not at the same moment."""
    with open(cgroup / "cgroup.events", encoding="utf-8") as events:
        changes = select.poll()
        changes.register(events, select.POLLPRI)
        while "populated 1" in events.read():
            assert changes.poll(END_SECONDS * 1000), f"processes are left in {cgroup}"
            events.seek(0)


def enter(programs):
    """Makes the new namespaces a node, with copies of these programs (by name) in /run/node. The repository stays the
    working directory."""
    programs = {name: Path(program).read_bytes() for name, program in programs.items()}
    etc = tempfile.mkdtemp()
    run(f"mount -t tmpfs tmpfs {etc}")
    run(f"cp -a /etc/. {etc}")
    run(f"mount --bind {etc} /etc")
    run(f"umount {etc}")
    os.rmdir(etc)
    for folder in ("/run", "/opt", "/var/lib", "/var/log", "/var/tmp", "/dev/shm"):
        Path(folder).mkdir(exist_ok=True)
        run(f"mount -t tmpfs tmpfs {folder}")
    for folder in ("/run/netns", "/run/lock", "/run/node", "/run/tmp", "/run/home", "/opt/cni/bin"):
        Path(folder).mkdir(parents=True)
    # Whatever packages put there, this node's networks are its own.
    for folder in ("/etc/cni", "/etc/containerd"):
        shutil.rmtree(folder, ignore_errors=True)
    os.environ.update(HOME="/run/home", TMPDIR="/run/tmp", XDG_RUNTIME_DIR="/run")
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    run("ip link set lo up")
    if cgroup_root():
        _mount_cgroups()
    for name, content in programs.items():
        program = Path("/run/node", name)
        program.write_bytes(content)
        program.chmod(0o755)


def _mount_cgroups():
    # Not over itself: the kernel refuses that. This one's root is the cgroup that spawn() made.
    run("mount -t tmpfs tmpfs /sys/fs/cgroup")
    run("mount -t cgroup2 cgroup2 /sys/fs/cgroup")
    # No process may stay in the root, else runtimes could not hand controllers down.
    own = Path("/sys/fs/cgroup/node")
    own.mkdir()
    (own / "cgroup.procs").write_text("0")


def install():
    """/run/node/kuryr-cni, behind a recorder of its calls."""
    PLUGIN.write_text("#!/bin/sh\n"
                      f'echo "$CNI_COMMAND $CNI_CONTAINERID netns=$CNI_NETNS" >>{CALLS}\n'
                      "exec /run/node/kuryr-cni\n")
    PLUGIN.chmod(0o755)


def calls(command=""):
    """What runtimes asked of kuryr-cni so far: (command, container id, namespace or "")."""
    lines = CALLS.read_text().splitlines() if CALLS.exists() else []
    found = []
    for line in lines:
        name, container, netns = line.split(" ")
        found.append((name, container, netns.removeprefix("netns=")))
    return [call for call in found if call[0] == command or not command]


def start_open_vswitch():
    """A private Open vSwitch with an integration bridge."""
    work = Path("/run/node/ovs")
    work.mkdir()
    Path("/run/openvswitch").mkdir()
    os.environ |= {"OVS_RUNDIR": "/run/openvswitch"} | {
        f"OVS_{name}DIR": str(work) for name in ("LOG", "DB", "SYSCONF")}
    run(f"ovsdb-tool create {work}/conf.db /usr/share/openvswitch/vswitch.ovsschema")
    run(f"ovsdb-server {work}/conf.db --remote=punix:/run/openvswitch/db.sock --detach --no-chdir --pidfile --log-file")
    run("ovs-vsctl --no-wait init")
    start_vswitchd()
    datapath = "system" if KERNEL_DATAPATH else "netdev"
    run(f"ovs-vsctl add-br br-int -- set bridge br-int datapath_type={datapath}")


def start_vswitchd():
    run("ovs-vswitchd --detach --no-chdir --pidfile --log-file")


def stop_vswitchd():
    daemon = int(Path("/run/openvswitch/ovs-vswitchd.pid").read_text())
    run("ovs-appctl -t ovs-vswitchd exit")
    os.waitpid(daemon, 0)  # a child of the node's first process, as all daemons


def check_clean():
    """Pods leave nothing on a node when DELs do their job."""
    found = []
    for link in json.loads(run("ip -json -details link")):
        if link.get("linkinfo", {}).get("info_kind") in ("veth", "ifb"):
            found.append(f"link {link['ifname']}")
    if Path("/run/openvswitch/db.sock").exists():
        found += [f"port {port}" for port in run("ovs-vsctl list-ports br-int").split()]
    found += [f"record {record.name}" for record in (STATE.iterdir() if STATE.exists() else ())]
    for network in RESERVATIONS.iterdir() if RESERVATIONS.exists() else ():
        found += [f"address {entry.name}" for entry in network.iterdir() if entry.name[0].isdigit()]
    found += [line for line in run("tc qdisc show").splitlines() if " tbf " in line or " ingress " in line]
    assert not found, f"{len(found)} left, such as {', '.join(found[:4])}"
