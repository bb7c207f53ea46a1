"""What one agent, and the API server for it, need in clusters of many nodes: for the first list, and for each change of a pod."""
import base64
import json
import os
import time
import uuid
from pathlib import Path

from harness.expectation import expect

PODS_OF_A_NODE, AT_ONCE, CHANGES = 110, 100, 2000
APPS, NAMESPACES_OF_A_NODE = 50, 2
SECONDS = 120
TICK = os.sysconf("SC_CLK_TCK")
ISOLATED = "isolated"
PATH = "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies"


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def pod(number, mark):
    """As large as a pod of one container with its status is at the API server."""
    node, moment = number // PODS_OF_A_NODE, "2026-01-01T00:00:00Z"
    container = {"name": "main", "image": "registry.example.org/team/application:1.2.3", "imagePullPolicy": "IfNotPresent",
                 "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
                 "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                 "env": [{"name": f"SETTING_{each}", "value": "a value of usual length"} for each in range(6)],
                 "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}]}
    address = f"100.{64 + (node >> 8)}.{node & 255}.{2 + number % PODS_OF_A_NODE}"
    conditions = [{"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": moment}
                  for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]
    status = {"phase": "Running", "conditions": conditions, "hostIP": "192.0.2.9", "podIP": address, "podIPs": [{"ip": address}],
              "startTime": moment, "qosClass": "Burstable", "containerStatuses": [{
                  "name": "main", "state": {"running": {"startedAt": moment}}, "lastState": {}, "ready": True, "restartCount": 0,
                  "image": container["image"], "imageID": f"{container['image']}@sha256:{'0' * 64}",
                  "containerID": f"containerd://{'1' * 64}"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
                "name": f"pod-{number}", "namespace": f"of-{node % NAMESPACES_OF_A_NODE}", "uid": str(uuid.UUID(int=number + 1)),
                "creationTimestamp": moment, "labels": {"app": f"app-{number % APPS}", "version": "v1", "mark": str(mark)}},
            "spec": {"nodeName": f"far-{node}", "containers": [container], "restartPolicy": "Always", "serviceAccountName": "default",
                     "volumes": [{"name": "token", "secret": {"secretName": "default-token"}}], "schedulerName": "default-scheduler",
                     "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30, "securityContext": {}}, "status": status}


def put(etcd, pods):
    for begin in range(0, len(pods), AT_ONCE):
        puts = [{"request_put": {"key": encoded(f"/registry/pods/{each['metadata']['namespace']}/{each['metadata']['name']}"),
                                 "value": encoded(json.dumps(each))}} for each in pods[begin:begin + AT_ONCE]]
        etcd.open("kv/txn", {"success": puts}).read()


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Watch:
    """The first node's agent, which has one pod and a policy that selects it."""

    def __init__(self, cluster):
        self.cluster, self.agent = cluster, cluster.nodes[0].agent

    def figures(self):
        metrics = self.agent.metrics()

        def total(metric):
            return sum(value for name, value in metrics.items() if name.startswith(metric) and 'resource="policies/pods"' in name)

        return {"lists": total("kuryr_daemon_watch_lists_total"), "bytes": total("kuryr_daemon_watch_bytes_total"),
                "events": total("kuryr_daemon_watch_events_total"),
                "agent": cpu_seconds(self.agent.process.pid), "api": cpu_seconds(self.cluster.api.process.pid)}

    def restart(self):
        """What it needs until it has listed all pods again."""
        self.agent.kill()
        before = cpu_seconds(self.cluster.api.process.pid)
        self.agent.start()
        self.wait_for("lists", 1)
        figures = self.figures()
        return {**figures, "api": figures["api"] - before}

    def wait_for(self, what, count):
        deadline = time.monotonic() + SECONDS
        while self.figures()[what] < count:
            expect(time.monotonic() < deadline, f"{self.figures()[what]:.0f} {what}, not {count}")
            time.sleep(0.1)


def measure(facts, cluster, nodes):
    """Prints a table, and gives its rows. cluster: LocalCluster; nodes: how many, growing."""
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": ISOLATED}})
    cluster.ask("POST", PATH.format(ISOLATED), {"metadata": {"name": "all"}, "spec": {"podSelector": {}, "ingress": [
        {"from": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "app-1"}}}]}]}})
    cluster.run_pod(ISOLATED, {"name": "pod"}, [{"name": "main", "image": "pause"}])
    watch, made, rows = Watch(cluster), 0, []
    print("nodes   pods | agent: MiB, most  CPU, list  a change | API server: CPU, list  a change | bytes a change")
    for count in nodes:
        with facts.fact(f"costs of a cluster of {count} nodes"):
            pods = count * PODS_OF_A_NODE
            put(cluster.cluster.etcd, [pod(number, 0) for number in range(made, pods)])
            made = pods
            listed = watch.restart()
            memory, most = resident(watch.agent), watch.agent.most_memory()
            before = watch.figures()
            put(cluster.cluster.etcd, [pod(number % pods, 1 + number // pods) for number in range(CHANGES)])
            watch.wait_for("events", before["events"] + CHANGES)
            after = watch.figures()
            change = {name: (after[name] - before[name]) / CHANGES for name in after}
            print(f"{count:5} {pods:6} | {memory:8.1f} {most:8.1f} {listed['agent']:8.2f} s {1e6 * change['agent']:8.0f} us | "
                  f"{listed['api']:14.2f} s {1e6 * change['api']:8.0f} us | "
                  f"{change['bytes']:14.0f}", flush=True)
            rows.append({"nodes": count, "pods": pods, "mib": memory, "most_mib": most, "list_s": listed["agent"],
                         "change_ms": 1e3 * change["agent"], "api_list_s": listed["api"], "api_change_ms": 1e3 * change["api"],
                         "change_bytes": change["bytes"]})
    return rows


def resident(agent):
    """MiB."""
    return int(Path(f"/proc/{agent.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
