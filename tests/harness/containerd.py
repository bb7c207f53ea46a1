"""containerd, with the configuration that a host's /etc has."""
from harness.cri import Cri
from harness.host import HERE

SOCKET = "/run/containerd/containerd.sock"


class Containerd:
    def __init__(self, log, host=HERE):
        """Ready when it returns."""
        self._log, self._host = log, host
        self._start()
        self.cri = Cri(host.path(SOCKET))
        self.cri.version()

    def restart(self):
        """As systemd does. Containers run on."""
        self._stop()
        self._start()
        self.cri.connect()
        self.cri.version()

    def _start(self):
        with open(self._log, "ab") as said:
            self._daemon = self._host.start(["containerd"], stdout=said, stderr=said)

    def _stop(self):
        self._daemon.terminate()
        self._daemon.wait()

    def import_images(self, *archives):
        """For pods."""
        for archive in archives:
            self._host.run("ctr", "-n", "k8s.io", "images", "import", archive)

    def __enter__(self):
        return self.cri

    def __exit__(self, *_):
        self.cri.close()
        self._stop()
