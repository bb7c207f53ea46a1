"""Kills the node's services, one or several at a time, and starts them again."""
import threading
import time

LONGEST_OUTAGE_SECONDS = 1.5
SETTLE_SECONDS = 120
POLL_SECONDS = 0.05


class Service:
    def __init__(self, name, start, kill, slow=False):
        """slow: others go on being killed while it starts."""
        self.name, self.start, self.kill, self.slow = name, start, kill, slow
        self.up = True
        self.kills = 0
        self.killed_at = None
        self.gaps = []  # (when it was killed, when it was back and its check was over)


class Outages:
    """From when to when each service was away: until the node was ready again, not only its process."""

    def __init__(self):
        self.changed = threading.Condition()
        self.all = []  # [service's name, begin, end or None]

    def begin(self, names):
        begun = [[name, time.monotonic(), None] for name in names]
        with self.changed:
            self.all += begun
            self.changed.notify_all()
        return begun

    def end(self, outages):
        with self.changed:
            for outage in outages:
                outage[2] = time.monotonic()
            self.changed.notify_all()

    def during(self, begin, end):
        """Names of the services that were away in some part of that time."""
        with self.changed:
            return {name for name, b, e in self.all if b <= end and (e is None or e >= begin)}

    def wait_for_change(self, seconds):
        """At once where all is well."""
        with self.changed:
            if any(end is None for _, _, end in self.all):
                self.changed.wait(seconds)


class Storm:
    """Strikes at random moments of the work, evenly strewn. `checks` has functions by services' names, called right after
    the service is back; they give what is wrong, or None."""

    def __init__(self, services, strikes, random, why_not_ready, checks):
        self.services = services
        self.strikes, self.random = strikes, random
        self.why_not_ready, self.checks = why_not_ready, checks
        self.outages = Outages()
        self.problems = []
        self.combinations = []
        self.done = 0
        self.progress = threading.Condition()
        self.threads = []

    def count(self, pairs):
        """Told by the clients: so many pairs are done."""
        with self.progress:
            self.done = pairs
            self.progress.notify_all()

    def run(self, pairs):
        """Strikes until so many pairs are done; all services are back when it returns."""
        part = pairs / self.strikes
        for strike in range(self.strikes):
            moment = int((strike + self.random.random()) * part)
            with self.progress:
                self.progress.wait_for(lambda moment=moment: self.done >= moment)
            self.strike()
        with self.progress:
            self.progress.wait_for(lambda: self.done >= pairs)
        for thread in self.threads:
            thread.join()

    def victims(self):
        """Each alone, then several together, in random order; again when all had their turn."""
        if not self.combinations:
            alone = [[service] for service in self.services]
            pairs = [self.random.sample(self.services, 2) for _ in range(2)]
            self.combinations = [*alone, *pairs, list(self.services)]
            self.random.shuffle(self.combinations)
        return [service for service in self.combinations.pop() if service.up]

    def strike(self):
        victims = self.victims()
        outages = dict(zip((s.name for s in victims), self.outages.begin([s.name for s in victims])))
        for service in victims:
            service.up = False
            service.killed_at = time.monotonic()
            service.kill()
            service.kills += 1
        # ovs-vswitchd does not start without its database.
        for service in sorted(victims, key=lambda service: service.name == "ovs-vswitchd"):
            time.sleep(self.random.random() * LONGEST_OUTAGE_SECONDS)
            if service.slow:
                self.start_thread(self.restart_and_settle, service, outages.pop(service.name))
            else:
                self.restart(service)
        self.start_thread(self.settle, list(outages.values()))

    def start_thread(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments)
        thread.start()
        self.threads.append(thread)

    def restart(self, service):
        try:
            service.start()
            service.up = True
            check = self.checks.get(service.name)
            problem = check() if check else None
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            self.problems.append((service.name, problem))
        service.gaps.append((service.killed_at, time.monotonic()))

    def restart_and_settle(self, service, outage):
        self.restart(service)
        self.settle([outage])

    def settle(self, outages):
        """They end when the agent is ready: it has to recover by itself."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while (why := self.why_not_ready()) is not None:
            if time.monotonic() > deadline:
                names = ", ".join(outage[0] for outage in outages)
                self.problems.append(("kuryr-daemon", f"is not ready {SETTLE_SECONDS} s after {names}: {why}"))
                break
            time.sleep(POLL_SECONDS)
        self.outages.end(outages)
