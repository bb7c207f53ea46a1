"""Policies by chance allow what a second reading of the API's words allows."""
import contextlib
import random

from policies.admin_chance import AdminChance
from policies.policed_pods import PolicedPods, population_by_chance
from policies.policy_chance import PORTS, Chance
from policies.policy_reading import Cluster, allowed

KILL_EACH = 10


def check(facts, backend, count, seed):
    """backend: of tests/policies/run, with a cluster without policies; count: how many policies are made."""
    dice = random.Random(seed)
    with facts.fact("12 pods of 4 namespaces reach each other", basis=True):
        pods = PolicedPods(backend.cluster, *population_by_chance(dice), PORTS)
        pods.expect_ways(pods.all_ways())
    chance = Chance(dice, pods.namespaces, pods.pods)
    admins = AdminChance(chance) if backend.has_admins else None
    makers = [each for each in (chance, admins) if each]
    with facts.fact(f"{count} policies by chance allow what the API's words allow, and nothing else"):
        for number in range(count):
            with disturbance(backend.cluster, number):
                change_all(pods, [change for maker in makers for change in maker.next()])
            read = Cluster(chance.policies, [each for _, each in admins.policies] if admins else [], chance.namespaces,
                           admins.nodes if admins else {})
            wanted = allowed(read, chance.pods, pods.all_ways())
            pods.expect_ways(wanted, f"after {number + 1} policies\n{chance}\n{admins}")
            if number % KILL_EACH == KILL_EACH - 1:
                print(f"[{number + 1}/{count}] {pods.times()}", flush=True)
    with facts.fact("without policies all pods reach each other again"):
        change_all(pods, [change for maker in makers for change in maker.remove_all()])
        pods.expect_ways(pods.all_ways())
    return pods


def disturbance(cluster, number):
    """Every so often, something is killed while policies change."""
    return cluster.disturbed(number // KILL_EACH) if number % KILL_EACH == KILL_EACH - 1 else contextlib.nullcontext()


def change_all(pods, changes):
    for change in changes:
        pods.apply(change)
