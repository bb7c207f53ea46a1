"""Changes of an ordinary plan: change(data, vif, victim), where data is the VIF's and vif all of it."""
from harness.namespaces import WORK

SOCKETS = WORK / "sockets"


def kind(name, plugin, **fields):
    def change(data, vif, _):
        vif["versioned_object.name"] = name
        data.update(plugin=plugin, **fields)
    return change


def virtual_function(address, **fields):
    return kind("VIFSriov", "sriov", dev_address=address, **fields)


def host_device(address, **fields):
    return kind("VIFHostDevice", "ovs", dev_address=address, dev_type="ethernet", **fields)


def vhost_user(name, path=None, mode="client"):
    """path: of the socket, where it is not the folder's."""
    return kind("VIFVHostUser", "ovs", vif_name=name, path=str(path or SOCKETS / name), mode=mode)


def dpdk(mac, **fields):
    """On the device that has the MAC."""
    return kind("VIFDPDKNested", "noop", address=mac, **fields)
