"""What has to be true of kuryr-controller as a service of systemd."""
import json
import os
import signal
import subprocess
from pathlib import Path

from agent.systemd_node import INSTALLED, OWN_UNITS, Journal, main_pid, properties, systemctl
from harness.kube_api import PODS, TOKEN
from harness.pod import ANNOTATION
from harness.process import run

SERVICE = "kuryr-controller.service"
CREDENTIALS = f"/run/credentials/{SERVICE}"
FOLDER = Path("/etc/kuryr")
CONF = f"""[kubernetes]
api_root = {{url}}
ssl_ca_crt_file = {CREDENTIALS}/ca.crt
token_file = {CREDENTIALS}/token
vif_sink = podstate
[controller]
leader_elect = false
[pool:pods]
cidr = 10.244.0.0/16
namespaces = *
"""
# What systemd hands over, of files that only root may read.
DROP_IN = f"""[Service]
LoadCredential=token:{FOLDER}/controller.token
LoadCredential=ca.crt:{FOLDER}/controller.ca
ExecStart=
ExecStart=/usr/sbin/kuryr-controller --config-file {FOLDER}/controller.conf
"""
# Tenths, of 10 at the worst.
MOST_EXPOSURE = 20
PLAN_SECONDS = 30
# systemd's, for DynamicUser=.
USERS = range(61184, 65520)


def state(fact, api):
    """The facts; fact is Facts.fact, api a KubeApi, whose server knows no Leases."""
    verify(fact)
    with fact("systemctl enable --now starts kuryr-controller; it is active by its own notification", basis=True):
        install(api)
        systemctl("enable", "--now", "--quiet", SERVICE)
        found = properties(SERVICE, "Type", "ActiveState", "SubState", "Result", "NRestarts")
        assert found == ["notify", "active", "running", "success", "0"], found
    with fact("its user is dynamic, has no capability and gets none; its system calls are filtered"):
        status = dict(line.split(":\t", 1)
                      for line in Path(f"/proc/{main_pid(SERVICE)}/status").read_text().splitlines())
        assert {int(user) in USERS for user in status["Uid"].split()} == {True}, status["Uid"]
        found = {name: status[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")}
        assert set(found.values()) == {f"{0:016x}"}, found
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status
    with fact("it plans a pod, with a token that only root may read"):
        assert os.stat(FOLDER / "controller.token").st_mode & 0o777 == 0o600
        plan_pod(api, "planned-1")
    with fact("killed, it is started anew and plans the next pod"):
        before = main_pid(SERVICE)
        with Journal(SERVICE) as journal:
            os.kill(before, signal.SIGKILL)
            journal.wait_for(f"Started {SERVICE}")
        assert main_pid(SERVICE) not in (0, before), "not restarted"
        plan_pod(api, "planned-2")
    with fact("a stop ends it in order"):
        systemctl("disable", "--now", "--quiet", SERVICE)
        found = properties(SERVICE, "ActiveState", "Result")
        assert found == ["inactive", "success"], found


def verify(fact):
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{INSTALLED}:{OWN_UNITS}"}
    unit = str(INSTALLED / SERVICE)
    with fact(f"systemd-analyze verify has nothing to say of {SERVICE}; its exposure is at most {MOST_EXPOSURE / 10}"):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], env=environment, text=True, capture_output=True,
                              check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), done.stdout + done.stderr
        said = run("systemd-analyze", "security", "--no-pager", "--offline=yes", f"--threshold={MOST_EXPOSURE}", unit,
                   env=environment)
        print("        " + said.strip().rsplit("\n", 1)[-1], flush=True)


def install(api):
    (FOLDER / "controller.conf").write_text(CONF.format(url=api.url))
    for name, content in {"token": TOKEN, "ca": Path(api.ca).read_text()}.items():
        file = FOLDER / f"controller.{name}"
        file.touch(0o600)
        file.write_text(content)
    drop_in = INSTALLED / f"{SERVICE}.d/test.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(DROP_IN)
    systemctl("daemon-reload")


def plan_pod(api, name):
    """Makes one that nobody else plans; returns when its plan is written."""
    api.create_pod(name, annotations={})
    with api.open("GET", f"{PODS}?watch=true&fieldSelector=metadata.name={name}&timeoutSeconds={PLAN_SECONDS}") as events:
        for line in events:
            pod = json.loads(line)["object"]
            if ANNOTATION in pod["metadata"].get("annotations", {}):
                assert "10.244." in pod["metadata"]["annotations"][ANNOTATION], pod
                return
    raise AssertionError(f"{name} is not planned in {PLAN_SECONDS} s")
