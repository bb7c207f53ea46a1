#!/usr/bin/python3
"""python_exchange.py VIF_EXCHANGE [COUNT]: our encodings against the real os-vif, both ways.

COUNT random VIFs of every kind (KURYR_EXCHANGE_COUNT, default 200) are encoded by ours and decoded by
os-vif, and as many are encoded by os-vif, with and without changes, and decoded and re-encoded by ours.
Exits 77 where os-vif is missing.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

try:
    import os_vif
    from os_vif.objects import base as osv_base
    from os_vif.objects import vif as osv_vif
    from oslo_versionedobjects import base, fields
except ImportError as e:
    print(f"SKIPPED: python3-os-vif is not installed ({e})")
    sys.exit(77)

warnings.simplefilter("ignore")
os_vif.objects.register_all()


# The classes kuryr-kubernetes added to os-vif's namespace.

@base.VersionedObjectRegistry.register
class VIFVlanNested(osv_vif.VIFBase):
    VERSION = "1.0"
    fields = {"vif_name": fields.StringField(), "vlan_id": fields.IntegerField()}


@base.VersionedObjectRegistry.register
class VIFMacvlanNested(osv_vif.VIFBase):
    VERSION = "1.0"
    fields = {"vif_name": fields.StringField()}


@base.VersionedObjectRegistry.register
class VIFDPDKNested(osv_vif.VIFNestedDPDK):
    VERSION = "1.0"
    fields = {"vif_name": fields.StringField()}


@base.VersionedObjectRegistry.register
class VIFSriov(osv_vif.VIFDirect):
    VERSION = "1.1"
    fields = {"physnet": fields.StringField(), "pod_name": fields.StringField(),
              "pod_link": fields.StringField()}


@base.VersionedObjectRegistry.register
class PodState(osv_base.VersionedObject):
    VERSION = "1.0"
    fields = {"default_vif": fields.ObjectField("VIFBase", subclasses=True),
              "additional_vifs": fields.Field(
                  fields.Dict(fields.Object("VIFBase", subclasses=True)), default={})}


KINDS = ["VIFGeneric", "VIFBridge", "VIFOpenVSwitch", "VIFDirect", "VIFVHostUser", "VIFHostDevice",
         "VIFNestedDPDK", "VIFVlanNested", "VIFMacvlanNested", "VIFDPDKNested", "VIFSriov"]
PROFILES = ["VIFPortProfileBase", "VIFPortProfileOpenVSwitch", "VIFPortProfileFPOpenVSwitch",
            "VIFPortProfileOVSRepresentor", "VIFPortProfileFPBridge", "VIFPortProfileFPTap",
            "VIFPortProfile8021Qbg", "VIFPortProfile8021Qbh", "VIFPortProfileK8sDPDK"]
OFFLOADS = ["DatapathOffloadBase", "DatapathOffloadRepresentor"]


def form(value):
    """The value as tests/data/vif-samples/expected writes it."""
    if isinstance(value, base.VersionedObject):
        out = {"_class": value.obj_name(), "_version": value.VERSION}
        for name in value.fields:
            out[name] = form(getattr(value, name)) if value.obj_attr_is_set(name) else "<unset>"
        return out
    if isinstance(value, dict):
        return {key: form(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [form(element) for element in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


class Maker:
    """Random objects of the real classes; values as sloppy as the classes allow and ours does too."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def digits(self, count, alphabet="0123456789abcdef"):
        return "".join(self.random.choice(alphabet) for _ in range(count))

    def uuid(self):
        return "-".join(self.digits(n) for n in (8, 4, 4, 4, 12))

    def mac(self):
        text = self.random.choice(":-").join(self.digits(2) for _ in range(6))
        return text.upper() if self.random.random() < 0.5 else text

    def ip(self):
        if self.random.random() < 0.5:
            return ".".join(str(self.random.choice([0, 1, 10, 192, 255, self.random.randrange(256)]))
                            for _ in range(4))
        text = ":".join(self.random.choice(["0", "0000", "00ab", "FE80", self.digits(4)])
                        for _ in range(8))
        return self.random.choice([text, "::" + self.digits(4), "fe80::" + self.digits(3),
                                   "::ffff:10.1.0.5", "64:ff9b::192.0.2.33", "::"])

    def cidr(self):
        address = self.ip()
        bits = 128 if ":" in address else 32
        return self.random.choice([address, f"{address}/{self.random.randrange(bits + 1)}"])

    def pci(self):
        return (f"{self.digits(4)}:{self.digits(2)}:{self.random.randrange(32):02X}."
                f"{self.random.randrange(8)}")

    def ifname(self):
        return "t" + self.digits(self.random.randrange(15), "abcXYZ0189-_.")

    def text(self):
        return self.digits(self.random.randrange(20), "abc \u00e9\u4e2d\U0001f600\"\\/\n\x01")

    def value(self, name, field):
        if isinstance(field, fields.ObjectField):
            return self.of_class(field.objname)
        kind = type(field).__name__
        simple = {"UUIDField": self.uuid, "MACAddressField": self.mac, "IPAddressField": self.ip,
                  "IPNetworkField": self.cidr, "PCIAddressField": self.pci,
                  "BooleanField": lambda: self.random.random() < 0.5,
                  "ListOfIPAddressField": lambda: [self.ip() for _ in range(self.random.randrange(4))]}
        if kind in simple:
            return simple[kind]()
        if isinstance(field, fields.BaseEnumField):
            return self.random.choice(list(field.valid_values))
        if kind == "ListOfObjectsField":
            return [self.make(field.objname) for _ in range(self.random.randrange(4))]
        if kind == "IntegerField":
            return self.integer(name)
        if kind == "StringField":
            return self.string(name)
        return {self.ifname(): self.of_class("VIFBase") for _ in range(self.random.randrange(4))}

    def integer(self, name):
        if name in ("vlan", "vlan_id"):
            return self.random.randrange(1, 4095)
        if name == "mtu":
            return self.random.choice([0, 68, 1450, 65535])
        return self.random.randrange(-2 ** 63, 2 ** 63)

    def string(self, name):
        if name in ("vif_name", "bridge_name", "bridge", "bridge_interface", "interface",
                    "representor_name"):
            return self.ifname()
        if name in ("pci_address", "representor_address"):
            return self.random.choice(["", "0000:03:1f.7"])
        if name in ("vlan_name", "dev_driver"):
            return self.random.choice(["", self.ifname()])
        return self.text()

    def of_class(self, name):
        choices = {"VIFBase": KINDS, "VIFPortProfileBase": PROFILES, "DatapathOffloadBase": OFFLOADS}
        return self.make(self.random.choice(choices.get(name, [name])))

    def make(self, name):
        made = base.VersionedObjectRegistry.obj_classes()[name][0]()
        for field_name, field in made.fields.items():
            if self.random.random() < 0.2:
                continue
            null = field.nullable and self.random.random() < 0.2
            setattr(made, field_name, None if null else self.value(field_name, field))
        return made


def run(program, *arguments, lines=None):
    with tempfile.TemporaryFile("w+") as stdin:
        for line in lines or []:
            stdin.write(line + "\n")
        stdin.seek(0)
        done = subprocess.run([program, *arguments], stdin=stdin, stdout=subprocess.PIPE, check=True,
                              encoding="utf-8")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def fail(what, wanted, got):
    print(f"FAILED: {what}\nwanted {json.dumps(wanted, sort_keys=True)}\ngot    "
          f"{json.dumps(got, sort_keys=True)}")
    sys.exit(1)


def ours_to_python(program, seed, count):
    total = 0
    for item in run(program, "generate", str(seed), str(count)):
        decoded = osv_base.VersionedObject.obj_from_primitive(item["primitive"])
        if form(decoded) != item["decoded"]:
            fail("os-vif decodes our encoding to another value", item["decoded"], form(decoded))
        if decoded.obj_to_primitive() != item["primitive"]:
            fail("os-vif encodes the same value differently", decoded.obj_to_primitive(),
                 item["primitive"])
        total += 1
    return total


def python_to_ours(program, seed, count):
    maker = Maker(seed)
    wanted = []
    for _ in range(count):
        for kind in KINDS + ["PodState"]:
            made = maker.make(kind)
            if maker.random.random() < 0.5:
                made.obj_reset_changes(recursive=True)
            wanted.append((made.obj_to_primitive(), form(made)))
    lines = [json.dumps(primitive) for primitive, _ in wanted]
    got = run(program, "decode", lines=lines)
    if len(got) != len(wanted):
        fail("ours answered another number of lines", len(wanted), len(got))
    for (primitive, value), answer in zip(wanted, got):
        if "error" in answer:
            fail(answer["error"], primitive, None)
        if answer["decoded"] != value:
            fail("ours decodes os-vif's encoding to another value", value, answer["decoded"])
        if answer["reencoded"] != primitive:
            fail("ours re-encodes differently", primitive, answer["reencoded"])
    return len(wanted)


def main():
    program = sys.argv[1]
    count = int(sys.argv[2] if len(sys.argv) > 2 else os.environ.get("KURYR_EXCHANGE_COUNT", "200"))
    seed = int(os.environ.get("KURYR_EXCHANGE_SEED", random.randrange(2 ** 32)))
    print(f"seed {seed}, {count} of every kind", flush=True)
    # In batches, so that 10,000 of every kind fit into memory.
    totals = [0, 0]
    for start in range(0, count, 500):
        batch = min(500, count - start)
        totals[0] += ours_to_python(program, seed + start, batch)
        totals[1] += python_to_ours(program, seed + start, batch)
    print(f"ours to os-vif: {totals[0]} equal; os-vif to ours: {totals[1]} equal")


if __name__ == "__main__":
    main()
