#include "tests/controller/backends/neutron/fake_neutron.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace kuryr::controller::neutron {
namespace {

using ErrorKind = NeutronError::Kind;

constexpr std::chrono::seconds kPatience{30};

IpAddress Parsed(const std::string& text) { return IpAddress::Parse(text).value(); }

bool Matches(const Port& port, const PortFilter& filter) {
  const auto is = [](const std::string& wanted, const std::string& found) {
    return wanted.empty() || wanted == found;
  };
  return is(filter.name, port.name) && is(filter.network_id, port.network_id) &&
         is(filter.device_owner, port.device_owner) && is(filter.device_id, port.device_id) &&
         is(filter.host_id, port.host_id) && is(filter.description, port.description) &&
         std::all_of(filter.tags.begin(), filter.tags.end(), [&](const std::string& tag) {
           return std::find(port.tags.begin(), port.tags.end(), tag) != port.tags.end();
         });
}

}  // namespace

void FakeNeutron::Refuse(ErrorKind kind, int status, const std::string& type,
                         const std::string& message) {
  throw NeutronError(kind, message, {.status = status, .type = type});
}

FakeNeutron::FakeNeutron() {
  subnets_[kSubnet4] = {
      .id = kSubnet4,
      .name = "pods4",
      .network_id = kNetwork,
      .cidr = IpNetwork::Parse("10.10.0.0/24").value(),
      .gateway = Parsed("10.10.0.1"),
      .dns = {Parsed("10.96.0.10")},
      .host_routes = {{IpNetwork::Parse("10.99.0.0/16").value(), Parsed("10.10.0.1")}},
      .allocation_pools = {{Parsed("10.10.0.2"), Parsed("10.10.0.200")}}};
  subnets_[kSubnet6] = {.id = kSubnet6,
                        .name = "pods6",
                        .network_id = kNetwork,
                        .cidr = IpNetwork::Parse("fd00:10::/64").value(),
                        .gateway = Parsed("fd00:10::"),
                        .allocation_pools = {{Parsed("fd00:10::1"), Parsed("fd00:10::ffff")}}};
  subnets_[kOtherSubnet] = {.id = kOtherSubnet,
                            .name = "storage",
                            .network_id = "33a354f3-2e63-47a9-bc2a-5c5028d39410",
                            .cidr = IpNetwork::Parse("10.30.0.0/29").value(),
                            .allocation_pools = {{Parsed("10.30.0.2"), Parsed("10.30.0.3")}}};
}

void FakeNeutron::Fail(const std::string& call, const Fault& fault) {
  const MutexLock lock(mutex_);
  faults_[call].push_back(fault);
}

void FakeNeutron::Hold(const std::string& call) {
  const MutexLock lock(mutex_);
  held_ = call;
}

void FakeNeutron::LetGo() {
  const MutexLock lock(mutex_);
  held_.clear();
  changed_.notify_all();
}

void FakeNeutron::Change(const std::string& id, const std::function<void(Port&)>& change) {
  const MutexLock lock(mutex_);
  change(ports_.at(id));
  ++ports_.at(id).revision;
}

bool FakeNeutron::WaitForHeld() {
  const MutexLock lock(mutex_);
  return changed_.wait_for(
      mutex_, kPatience, [this]() KURYR_TSA(requires_capability(mutex_)) { return holding_ > 0; });
}

void FakeNeutron::KillHost(const std::string& host) {
  const MutexLock lock(mutex_);
  dead_hosts_.insert(host);
}

void FakeNeutron::ReviveHost(const std::string& host) {
  const MutexLock lock(mutex_);
  dead_hosts_.erase(host);
}

void FakeNeutron::SetQuota(size_t ports) {
  const MutexLock lock(mutex_);
  quota_ = ports;
}

void FakeNeutron::SetTagsAtCreation(bool taken) {
  const MutexLock lock(mutex_);
  tags_at_creation_ = taken;
}

void FakeNeutron::SetSlaac() {
  const MutexLock lock(mutex_);
  subnets_[kSubnet6].is_slaac = true;
  for (auto& [id, port] : ports_) AddUnasked(port);
}

void FakeNeutron::SetActive(const std::string& id, bool active) {
  const MutexLock lock(mutex_);
  ports_.at(id).active = active;
  ++ports_.at(id).revision;
}

void FakeNeutron::SetAllActive() {
  const MutexLock lock(mutex_);
  for (auto& [id, port] : ports_) {
    port.active = true;
    ++port.revision;
  }
}

void FakeNeutron::Erase(const std::string& id) {
  const MutexLock lock(mutex_);
  ports_.erase(id);
}

void FakeNeutron::HideFromLists(const std::string& id) {
  const MutexLock lock(mutex_);
  hidden_.insert(id);
}

Port FakeNeutron::Add(const PortRequest& request) {
  const MutexLock lock(mutex_);
  return Make(request);
}

std::vector<Port> FakeNeutron::ports() const {
  const MutexLock lock(mutex_);
  std::vector<Port> all;
  for (const auto& [id, port] : ports_) all.push_back(port);
  return all;
}

size_t FakeNeutron::CountOf(const std::string& call) const {
  const MutexLock lock(mutex_);
  const auto count = counts_.find(call);
  return count == counts_.end() ? 0 : count->second;
}

bool FakeNeutron::WaitUntil(const std::function<bool(const std::vector<Port>&)>& condition) {
  const MutexLock lock(mutex_);
  return changed_.wait_for(mutex_, kPatience, [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::vector<Port> all;
    for (const auto& [id, port] : ports_) all.push_back(port);
    return condition(all);
  });
}

bool FakeNeutron::WaitForCount(const std::string& call, size_t count) {
  const MutexLock lock(mutex_);
  return changed_.wait_for(mutex_, kPatience, [&]() KURYR_TSA(requires_capability(mutex_)) {
    return counts_[call] >= count;
  });
}

std::optional<FakeNeutron::Fault> FakeNeutron::Begin(const std::string& name) {
  ++counts_[name];
  ++holding_;
  changed_.notify_all();
  if (held_ != name) --holding_;
  if (held_ == name) {
    changed_.wait(mutex_, [&]() KURYR_TSA(requires_capability(mutex_)) { return held_ != name; });
    --holding_;
  }
  std::list<Fault>& faults = faults_[name];
  if (faults.empty()) return std::nullopt;
  const Fault fault = faults.front();
  faults.pop_front();
  return fault;
}

void FakeNeutron::ThrowFault(const std::string& call, const Fault& fault) {
  static const std::set<std::string> kReads = {"GetPort",       "ListPorts",         "ActivePorts",
                                               "ExistingPorts", "ListNodePorts",     "ListNetworks",
                                               "ListSubnets",   "GetSubnetPool",     "GetSubnet",
                                               "GetNetwork",    "ListSecurityGroups"};
  const bool changes = !kReads.contains(call);
  throw NeutronError(fault.kind, call + ": no answer",
                     {.retry_after = fault.retry_after,
                      .uncertain = fault.kind == ErrorKind::kUnavailable && changes});
}

void FakeNeutron::Bind(Port& port) const {
  const bool dead = dead_hosts_.contains(port.host_id);
  port.vif_type = port.host_id.empty() ? "unbound" : dead ? "binding_failed" : "ovs";
  port.vif_details = dead || port.host_id.empty() ? VifDetails() : VifDetails{.port_filter = true};
}

Port& FakeNeutron::At(const std::string& id) {
  const auto port = ports_.find(id);
  if (port == ports_.end())
    Refuse(ErrorKind::kNotFound, 404, "PortNotFound", "Port " + id + " could not be found.");
  return port->second;
}

IpAddress FakeNeutron::Choose(const FixedIpRequest& wanted) {
  const auto taken = [this](const IpAddress& address) KURYR_TSA(requires_capability(mutex_)) {
    return std::any_of(ports_.begin(), ports_.end(), [&](const auto& known) {
      const auto& ips = known.second.fixed_ips;
      return std::any_of(ips.begin(), ips.end(),
                         [&](const FixedIp& ip) { return ip.address == address; });
    });
  };
  if (wanted.address) {
    if (!taken(*wanted.address)) return *wanted.address;
    Refuse(ErrorKind::kConflict, 409, "IpAddressAlreadyAllocated",
           "IP address " + wanted.address->ToString() + " already allocated in subnet " +
               wanted.subnet_id);
  }
  for (const AddressRange& range : subnets_.at(wanted.subnet_id).allocation_pools) {
    for (IpAddress address = range.first; address <= range.last;
         ++address.bytes.at(address.size() - 1)) {
      if (!taken(address)) return address;
    }
  }
  Refuse(ErrorKind::kExhausted, 409, "IpAddressGenerationFailure",
         "No more IP addresses available");
}

void FakeNeutron::AddUnasked(Port& port) {
  for (const auto& [id, subnet] : subnets_) {
    const bool has_it = std::any_of(port.fixed_ips.begin(), port.fixed_ips.end(),
                                    [&](const FixedIp& ip) { return ip.subnet_id == subnet.id; });
    if (has_it || !subnet.is_slaac || subnet.network_id != port.network_id) continue;
    port.fixed_ips.push_back({subnet.id, Choose({.subnet_id = subnet.id})});
    ++port.revision;
  }
}

Port FakeNeutron::Make(const PortRequest& request) {
  if (ports_.size() >= quota_)
    Refuse(ErrorKind::kQuota, 409, "OverQuota", "Quota exceeded for resources: ['port'].");
  Port port{.name = request.name,
            .description = request.description,
            .network_id = request.network_id,
            .device_id = request.device_id,
            .device_owner = request.device_owner,
            .host_id = request.host_id,
            .vnic_type = "normal",
            .security_groups =
                request.security_groups.value_or(std::vector<std::string>{"default-group"}),
            .has_address_pairs = !request.sends_from.empty(),
            .revision = 1};
  RequireGroups(port.security_groups);
  if (tags_at_creation_) port.tags = request.tags;
  for (const FixedIpRequest& wanted : request.fixed_ips) {
    if (!subnets_.contains(wanted.subnet_id))
      Refuse(ErrorKind::kNotFound, 404, "SubnetNotFound", "Subnet " + wanted.subnet_id);
    port.fixed_ips.push_back({wanted.subnet_id, Choose(wanted)});
  }
  AddUnasked(port);
  char id[40];
  (void)std::snprintf(id, sizeof id, "fbea0d51-2c0d-4cd2-89de-%012x", ++made_);
  port.id = id;
  port.mac.bytes = {
      0xfa, 0x16, 0x3e, 0, static_cast<uint8_t>(made_ >> 8U), static_cast<uint8_t>(made_)};
  if (request.mac) port.mac = *request.mac;
  Bind(port);
  return ports_[port.id] = port;
}

Network FakeNeutron::GetNetwork(const std::string& id) {
  return Call("GetNetwork", [&]() KURYR_TSA(requires_capability(mutex_)) {
    const auto made = networks_.find(id);
    return made == networks_.end() ? Network{.id = id, .name = "pods", .mtu = 1442} : made->second;
  });
}

Subnet FakeNeutron::GetSubnet(const std::string& id) {
  return Call("GetSubnet", [&]() KURYR_TSA(requires_capability(mutex_)) {
    const auto subnet = subnets_.find(id);
    if (subnet == subnets_.end())
      Refuse(ErrorKind::kNotFound, 404, "SubnetNotFound", "Subnet " + id + " could not be found.");
    return subnet->second;
  });
}

std::vector<Subnet> FakeNeutron::ListSubnets(const std::string& network_id) {
  return Call("ListSubnets", [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::vector<Subnet> found;
    for (const auto& [id, subnet] : subnets_) {
      if (subnet.network_id == network_id) found.push_back(subnet);
    }
    return found;
  });
}

/// Creates a port as the client does: it sets tags afterwards if Neutron drops them.
Port FakeNeutron::CreatePort(const PortRequest& request) {
  Port port =
      Call("CreatePort", [&]() KURYR_TSA(requires_capability(mutex_)) { return Make(request); });
  if (port.tags != request.tags) SetTags(port.id, request.tags);
  return port;
}

std::vector<Port> FakeNeutron::CreatePorts(const std::vector<PortRequest>& requests) {
  return Call("CreatePorts", [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::vector<Port> made;
    const auto before = ports_;
    try {
      for (const PortRequest& request : requests) made.push_back(Make(request));
    } catch (...) {
      ports_ = before;
      throw;
    }
    return made;
  });
}

Port FakeNeutron::BindPort(const std::string& id, const std::string& host_id) {
  return Call("BindPort", [&]() KURYR_TSA(requires_capability(mutex_)) {
    Port& port = At(id);
    port.host_id = host_id;
    Bind(port);
    return port;
  });
}

Port FakeNeutron::UpdatePort(const std::string& id, const PortUpdate& update) {
  return Call("UpdatePort", [&]() KURYR_TSA(requires_capability(mutex_)) {
    Port& port = At(id);
    if (update.revision && *update.revision != port.revision)
      Refuse(ErrorKind::kPrecondition, 412, "RevisionNumberConstraintFailed", "Constrained to");
    if (update.security_groups) RequireGroups(*update.security_groups);
    port.name = update.name.value_or(port.name);
    port.description = update.description.value_or(port.description);
    port.device_id = update.device_id.value_or(port.device_id);
    port.security_groups = update.security_groups.value_or(port.security_groups);
    ++port.revision;
    return port;
  });
}

void FakeNeutron::SetTags(const std::string& id, const std::vector<std::string>& tags) {
  (void)Call("SetTags", [&]() KURYR_TSA(requires_capability(mutex_)) {
    At(id).tags = tags;
    ++At(id).revision;
    return true;
  });
}

void FakeNeutron::DeletePort(const std::string& id) {
  (void)Call("DeletePort", [&]() KURYR_TSA(requires_capability(mutex_)) {
    const std::string trunk = TrunkOf(id);
    if (!trunk.empty())
      Refuse(ErrorKind::kConflict, 409, kPortIsSubPort, "Port " + id + " is a subport of " + trunk);
    return ports_.erase(id);
  });
}

Port FakeNeutron::GetPort(const std::string& id) {
  return Call("GetPort", [&]() KURYR_TSA(requires_capability(mutex_)) { return At(id); });
}

std::vector<Port> FakeNeutron::ListPorts(const PortFilter& filter) {
  return Call("ListPorts", [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::vector<Port> found;
    for (const auto& [id, port] : ports_) {
      if (Matches(port, filter)) found.push_back(port);
    }
    return found;
  });
}

std::vector<std::string> FakeNeutron::ActivePorts(const std::vector<std::string>& ids) {
  return Call("ActivePorts", [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::vector<std::string> active;
    for (const std::string& id : ids) {
      const auto port = ports_.find(id);
      if (port != ports_.end() && port->second.active) active.push_back(id);
    }
    return active;
  });
}

std::vector<std::string> FakeNeutron::ExistingPorts(const std::vector<std::string>& ids) {
  return Call("ExistingPorts", [&]() KURYR_TSA(requires_capability(mutex_)) {
    std::vector<std::string> there;
    for (const std::string& id : ids) {
      if (ports_.contains(id) && !hidden_.contains(id)) there.push_back(id);
    }
    return there;
  });
}

std::optional<PortQuota> FakeNeutron::GetPortQuota(const std::string& /*project_id*/) {
  return Call("GetPortQuota", [&]() KURYR_TSA(requires_capability(mutex_)) {
    return std::optional(PortQuota{.limit = static_cast<int64_t>(quota_),
                                   .used = static_cast<int64_t>(ports_.size())});
  });
}

bool FakeNeutron::TagsAtCreation() {
  const MutexLock lock(mutex_);
  return tags_at_creation_;
}

}  // namespace kuryr::controller::neutron
