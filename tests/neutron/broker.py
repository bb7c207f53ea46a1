"""A private RabbitMQ: neutron-server and its agents talk by it."""
from harness import service
from harness.namespaces import WORK

FOLDER = WORK / "rabbitmq"
URL = "rabbit://guest:guest@127.0.0.1:5672/"
# Its own script would become the user rabbitmq, whose folders are the machine's.
PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server"
CONF = "listeners.tcp.local = 127.0.0.1:5672\ndisk_free_limit.absolute = 1MB\n"
PLACES = {"HOME": FOLDER, "RABBITMQ_CONF_ENV_FILE": "/dev/null", "RABBITMQ_CONFIG_FILE": FOLDER / "rabbitmq.conf",
          "RABBITMQ_MNESIA_BASE": FOLDER / "mnesia", "RABBITMQ_LOG_BASE": FOLDER, "RABBITMQ_LOGS": "-",
          "RABBITMQ_ENABLED_PLUGINS_FILE": FOLDER / "plugins", "RABBITMQ_NODENAME": "rabbit@localhost"}
# One thread that does not spin while it waits.
FRUGAL = {"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none"}


def start():
    """Ready when it returns."""
    FOLDER.mkdir()
    (FOLDER / "rabbitmq.conf").write_text(CONF)
    with open(WORK / "rabbitmq.log", "wb") as log:
        service.started([PROGRAM], FOLDER / "ready", {**PLACES, **FRUGAL}, stdout=log, stderr=log, cwd="/")
