"""Facts of kuryr-controller as a service of systemd."""
import json
import os
from pathlib import Path

from agent import service_unit
from harness.kube_api import PODS, TOKEN
from harness.pod import ANNOTATION

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
# systemd hands over files that only root may read.
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
    service_unit.verify(fact, SERVICE, MOST_EXPOSURE)
    with fact("systemctl enable --now starts kuryr-controller; it is active by its own notification", basis=True):
        install(api)
        service_unit.start(SERVICE)
    with fact("its user is dynamic, has no capability and gets none; its system calls are filtered"):
        users = service_unit.status_of(SERVICE)["Uid"]
        assert {int(user) in USERS for user in users.split()} == {True}, users
    with fact("it plans a pod, with a token that only root may read"):
        assert os.stat(FOLDER / "controller.token").st_mode & 0o777 == 0o600
        plan_pod(api, "planned-1")
    with fact("killed, it is started anew and plans the next pod"):
        service_unit.kill(SERVICE)
        plan_pod(api, "planned-2")
    with fact("a stop ends it in order"):
        service_unit.stop(SERVICE)


def install(api):
    (FOLDER / "controller.conf").write_text(CONF.format(url=api.url))
    for name, content in {"token": TOKEN, "ca": Path(api.ca).read_text()}.items():
        file = FOLDER / f"controller.{name}"
        file.touch(0o600)
        file.write_text(content)
    service_unit.drop_in(SERVICE, DROP_IN)


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
