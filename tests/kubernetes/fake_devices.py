"""A card with virtual functions, as files: what sysfs says of them."""
from harness import namespaces

SYSFS = namespaces.WORK / "sysfs"
PF = "0000:03:00.0"


def address(number):
    return f"0000:03:10.{number}"


def make_card(count):
    """The addresses of its VFs, which have a driver of the kernel's."""
    _make(PF, {"class": "0x020000", "vendor": "0x8086", "device": "0x158b", "numa_node": "0", "net/ens1/uevent": ""})
    _write(SYSFS / "class/net/ens1/type", "1")
    for number in range(count):
        _make(address(number), {"class": "0x020000", "vendor": "0x8086", "device": "0x154c", "numa_node": "0"})
        _link(address(number), "physfn", f"../{PF}")
        _link(PF, f"virtfn{number}", f"../{address(number)}")
        set_driver(address(number), "iavf")
    return [address(number) for number in range(count)]


def set_driver(device, driver):
    folder = folder_of(device)
    (folder / "driver").unlink(missing_ok=True)
    _link(device, "driver", f"../../drivers/{driver}")
    # Other than the kernel's, this one's folder says that something has changed.
    (folder.parent / "changed").touch()
    (folder.parent / "changed").unlink()


def give_link(device, name, mac):
    _write(folder_of(device) / "net" / name / "uevent", "")
    _write(SYSFS / "class/net" / name / "address", mac)
    (SYSFS / "class/net" / name / "device").symlink_to(folder_of(device))


def set_upper(device, name, upper):
    """`upper` stands on the device's link `name`."""
    (folder_of(device) / "net" / name / f"upper_{upper}").mkdir()


def folder_of(device):
    return SYSFS / "bus/pci/devices" / device


def _make(device, files):
    for name, text in files.items():
        _write(folder_of(device) / name, text)


def _link(device, name, target):
    (folder_of(device) / name).symlink_to(target)


def _write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")
