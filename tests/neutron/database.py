"""A private MariaDB with Neutron's tables: SQLite locks with several workers."""
from harness import service
from harness.namespaces import WORK
from harness.process import run

FOLDER = WORK / "mariadb"
SOCKET = FOLDER / "mariadb.sock"
URL = f"mysql+pymysql://root@localhost/neutron?unix_socket={SOCKET}"
# The migrations take a minute; what they end in is the same. From 2023.2 on one of them also writes with which rules a new
# group begins.
MAKE_TABLES = f"""
import uuid
import sqlalchemy
from neutron.db.migration.models import head
engine = sqlalchemy.create_engine("{URL}")
head.get_metadata().create_all(engine)
tables = head.get_metadata().tables
rules = tables.get("securitygroupdefaultrules")
with engine.begin() as connection:
    for family in ("IPv4", "IPv6") if rules is not None else ():
        made = connection.execute(tables["standardattributes"].insert().values(resource_type=rules.name))
        connection.execute(rules.insert().values(
            id=str(uuid.uuid4()), standard_attr_id=made.inserted_primary_key[0], direction="egress", ethertype=family,
            used_in_default_sg=True, used_in_non_default_sg=True))
"""


def start():
    """Ready when it returns."""
    FOLDER.mkdir()
    # In /tmp its temporary tables have names of its process ID: in another namespace there is the same.
    (FOLDER / "tmp").mkdir()
    usual = ["--no-defaults", "--user=root", f"--datadir={FOLDER}/data", f"--tmpdir={FOLDER}/tmp"]
    run("mariadb-install-db", *usual, "--skip-test-db", "--auth-root-authentication-method=normal")
    with open(WORK / "mariadb.log", "wb") as log:
        service.started(["mariadbd", *usual, f"--socket={SOCKET}", "--skip-networking", "--skip-grant-tables",
                         "--innodb-flush-log-at-trx-commit=0"], FOLDER / "ready", stdout=log, stderr=log)
    run("mariadb", "--no-defaults", f"--socket={SOCKET}", "--execute=CREATE DATABASE neutron CHARACTER SET utf8mb3")
    run("/usr/bin/python3", "-c", MAKE_TABLES, cwd="/")
