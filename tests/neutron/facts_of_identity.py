"""Keystone: its tokens are replaced before they end, and when they are refused; while it is away, pods wait."""
import itertools
import signal

from controller.controllers import Controller
from harness.expectation import expect, expect_same

# A token is replaced when a quarter of that is left.
TOKEN_SECONDS = 20
# kuryr-controller asks again after up to 60 s.
AGAIN_SECONDS = 150
REQUESTS = "kuryr_controller_neutron_requests_total"


class Standing:
    """A kuryr-controller's with Keystone, by an application credential."""

    def __init__(self, planning, keystone):
        self.planning, self.keystone = planning, keystone
        self.numbers = itertools.count(1)
        self.controller = Controller(3, planning.controller.program, planning.api, "kuryrport",
                                     planning.network.backend(keystone.application_credential()))

    def count(self, label):
        return sum(value for name, value in self.controller.metrics().items() if name.startswith(REQUESTS) and label in name)

    def tokens(self):
        return self.count('request="token",outcome="ok"')

    def refusals(self):
        return self.count('outcome="unauthorized"')

    def come_and_go(self, until):
        """Pods, one after another, until until() is something."""
        def one():
            name = f"token-{next(self.numbers)}"
            uid = self.planning.create(name)
            self.planning.wait_for("its plan", lambda: self.planning.vifs_of(name))
            self.planning.delete(name)
            self.planning.wait_for("no port", lambda: not self.planning.ports_of(uid))
            return until()
        self.planning.wait_for("what pods come and go for", one)

    def renews_in_time(self):
        """Where the machine stands still meanwhile, it cannot."""
        refusals, tokens = self.refusals(), self.tokens()
        self.come_and_go(lambda: self.tokens() > tokens)
        return self.refusals() == refusals

    def wait_with_an_event(self):
        """Makes pods until one has the Event. Neutron still accepts a token that it remembers, so an earlier pod may get its plan."""
        def waits():
            name = f"token-{next(self.numbers)}"
            self.planning.create(name)
            self.planning.wait_for("its plan, or its Event", lambda: (
                self.planning.vifs_of(name) or self.planning.events_of(name)))
            return not self.planning.vifs_of(name) and name
        return self.planning.wait_for("a pod that waits", waits)


def check(facts, planning, keystone):
    with facts.fact("an application credential is as good as a password", basis=True):
        standing = Standing(planning, keystone)
        standing.come_and_go(lambda: standing.tokens() == 1)
    with facts.fact("while Keystone is away, pods wait with an Event; when it is back, they are planned"):
        keystone.stop()
        try:
            name = standing.wait_with_an_event()
            expect_same(["KuryrBackendUnavailable"], sorted(planning.events_of(name)), "Events")
        finally:
            keystone.configure(TOKEN_SECONDS)
            keystone.make_keys()
            keystone.start()
        planning.wait_for("its plan", lambda: planning.vifs_of(name), AGAIN_SECONDS)
        for pod in planning.pods():
            if pod["metadata"]["name"].startswith("token-"):
                planning.delete(pod["metadata"]["name"])
    with facts.fact("Keystone came back with other keys: the token is refused, and replaced"):
        expect(standing.refusals() > 0 and standing.tokens() > 1, f"{standing.refusals()} refusals, {standing.tokens()} tokens")
    with facts.fact("a token is replaced before it ends: none is refused"):
        planning.wait_for("a token that is replaced in time", standing.renews_in_time, AGAIN_SECONDS)
    standing.controller.end(signal.SIGTERM)
    keystone.configure()
    keystone.kill()
