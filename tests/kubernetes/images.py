"""The images that pods of a cluster's tests have, of Debian's programs and those that Kubernetes' source has beside itself."""
from pathlib import Path

from harness.container_image import Layer, write_archive
from harness.kube_api import find_programs
from harness.process import run
from kubernetes import runtime

# etc/kubernetes/connectivity-check.yaml's and README.md's.
BUSYBOX = "docker.io/library/busybox:1.35"
SLEEP = {"Cmd": ["/bin/busybox", "sleep", "2147483647"]}
SHELL = {"Cmd": ["/bin/sh"]}
AGNHOST = "localhost/agnhost:1"
SERVE = {"Entrypoint": ["/agnhost"], "Cmd": ["pause"]}
# The names are the suite's own, and cluster-dns.yaml's.
OWN = {AGNHOST: SERVE, runtime.SANDBOX: SLEEP, "localhost/cluster-dns:1": {"Entrypoint": ["/cluster-dns"]}}
# Images of Kubernetes' tests.
TESTED = {"agnhost": SERVE, "busybox": SHELL, "pause": SLEEP, "jessie-dnsutils": SLEEP, "glibc-dns-testing": SLEEP}
# busybox's own shell crashes in Kubernetes' tests.
PROGRAMS = {"/usr/bin/dash": "/bin/sh", "/usr/bin/nc.openbsd": "/bin/nc", **{f"/usr/bin/{name}": f"/bin/{name}" for name in (
    "curl", "dig", "getent", "host", "nslookup")}}

MAKE_CERTIFICATE = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=localhost"


def pack(release, file):
    """An archive of them, by the names that the release's tests use, too."""
    layer = Layer()
    for folder, name in ((release.programs, "agnhost"), (find_programs("--dns")[0], "cluster-dns")):
        layer.add_program(Path(folder, name), f"/{name}")
    # agnhost serves TLS by them.
    run(f"{MAKE_CERTIFICATE} -keyout {file}.key -out {file}.crt")
    for kind in ("key", "crt"):
        layer.add_text(f"/localhost.{kind}", Path(f"{file}.{kind}").read_text())
    for program, path in PROGRAMS.items():
        layer.add_program(program, path)
    _add_busybox(layer)
    layer.add_text("/etc/nsswitch.conf", "hosts: files dns\n")
    layer.add_text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    tested = {name: TESTED[kind] for kind, names in release.image_names.items() if kind in TESTED for name in names}
    write_archive(file, layer, {**OWN, **tested})


def pack_busybox(file):
    """An archive of an image that has busybox alone."""
    layer = Layer()
    _add_busybox(layer)
    write_archive(file, layer, {BUSYBOX: SHELL})


def _add_busybox(layer):
    layer.add_program("/bin/busybox")
    layer.add_links("busybox", *(f"/bin/{name}" for name in run("/bin/busybox --list").split()))
