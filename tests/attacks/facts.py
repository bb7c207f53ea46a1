"""What has to be true of a node that pods with hostile annotations come to and leave."""
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from attacks import known, known_devices
from attacks.device_host import DeviceNode
from attacks.grammar import MOST_BYTES, Attack
from attacks.host import AttackedNode
from harness.expectation import differences, expect, nothing, wait_for_none
from harness.kube_api import FakeApiServer, make_certificates
from harness.kuryr_node import kuryr_target
from harness.namespaces import WORK
from harness.pod import ANNOTATION, Plan
from harness.traffic import Traffic

AT_A_TIME = 8
MOST_MIB = 64
FLOOD = 500
INTERNAL = "999"


def state(facts, chosen):
    make_certificates(WORK / "tls")
    kind, attacks, changes = (DeviceNode, known_devices.ALL, known_devices.CHANGES) if chosen.devices else (AttackedNode, known.ALL, ())
    with facts.fact("a node with devices, and two pods that talk", basis=True):
        node = kind(kuryr_target(chosen.plugin), FakeApiServer(WORK / "tls", WORK / "api.log"), daemon=chosen.daemon)
        node.make_devices()
        victims = node.make_victims()
        traffic = Traffic([(made.netns_path, made.pod.plan.address) for made in victims[:2]])
        expect(traffic.wait_until_all_flow(), "they do not")
        before = node.picture_of_host()
    try:
        _try_known(facts, node, attacks, victims[0].pod.plan)
        _attack(facts, chosen, node, victims, changes)
        _flood(facts, node)
        with facts.fact("the two pods have lost no packet"):
            expect(traffic.wait_until_all_flow(), "they talk no more")
            nothing(traffic.lost(), f"of {traffic.count()} packets lost")
    finally:
        traffic.stop()
    with facts.fact("links, addresses, routes, sysctls, files, sockets and Open vSwitch are as before"):
        # ovs-vswitchd gives the bridge its MTU back after it has answered.
        wait_for_none(lambda: _changes(before, node.picture_of_host()), "things are not as they were")


def _changes(before, now):
    return [differences(before.get(what, "not there"), now.get(what, "not there"), what)
            for what in sorted({*before, *now}) if before.get(what) != now.get(what)]


def _try_known(facts, node, attacks, victim):
    for number, attack in enumerate(attacks):
        with facts.fact(f"{attack.text}: code {attack.code}"):
            added, deleted = _come_and_go(node, f"known-{number}", attack.annotations(number, victim))
            added.error(attack.code)
            deleted.silent()


def _attack(facts, chosen, node, victims, changes):
    """ADD and DEL of each pod; what went wrong is told at the end."""
    chance = random.Random(chosen.seed)
    plans = [made.pod.plan for made in victims]
    attacks = [Attack(number, random.Random(chance.random()), plans, changes) for number in range(chosen.attacks)]
    with ThreadPoolExecutor(AT_A_TIME) as attackers:
        ended = list(attackers.map(lambda attack: _come_and_go(node, f"attacker-{attack.plan.port}", attack.annotations),
                                   attacks))
    codes = Counter(map(_code_of, (added for added, _ in ended)))
    with facts.fact(f"each of {chosen.attacks} pods is answered: " +
                    ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))):
        nothing((f"{added} for {attack}" for (added, _), attack in zip(ended, attacks) if _code_of(added) == INTERNAL),
                "by an internal error")
        expect(codes["success"] < chosen.attacks, "none was refused")
    with facts.fact("each DEL succeeds"):
        nothing((f"{deleted} for {attack}" for (_, deleted), attack in zip(ended, attacks) if not deleted.succeeded()),
                "do not")
    with facts.fact("no error tells of another pod"):
        secrets = [secret for made in victims for secret in (made.pod.uid, made.container_id, made.pod.name + ",")]
        nothing((f"{added} for {attack}" for (added, _), attack in zip(ended, attacks)
                 if any(secret in added.stdout.decode(errors="replace") for secret in secrets)), "do")


def _flood(facts, node):
    """Patches of one's own pod as large as the API server takes, while its ADD waits."""
    with facts.fact(f"{FLOOD} patches of {MOST_BYTES // 1000} kB, and kuryr-daemon has at most {MOST_MIB} MiB"):
        pod = node.api.create_pod("flood", Plan(50000, active=False))
        made = node.attachment(pod=pod)
        waiting = made.start("ADD")
        text = "x" * (MOST_BYTES - len(pod.plan.annotation()[ANNOTATION]))
        for number in range(FLOOD):
            node.api.annotate(pod, {**pod.plan.annotation(), "flood": f"{number}{text}"})
        node.finish_call(waiting, "ADD").error(known.TAKEN)
        made.delete().silent()
        node.end_namespace(made)
        node.api.delete_pod(pod)
        had = node.agent.most_memory()
        print(f"kuryr-daemon had {had:.1f} MiB at most", flush=True)
        expect(had < MOST_MIB, f"it had {had:.1f}")


def _code_of(added):
    return "success" if added.succeeded() else str(added.error()["code"])


def _come_and_go(node, name, annotations):
    """What ADD and DEL of a pod with them answered."""
    pod = node.api.create_pod(name, annotations=annotations)
    made = node.attachment(pod=pod)
    added, deleted = made.add(), made.delete()
    node.end_namespace(made)
    node.api.delete_pod(pod)
    return added, deleted
