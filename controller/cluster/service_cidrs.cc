#include "controller/cluster/service_cidrs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace kuryr::controller {
namespace {

bool IsWithin(const IpNetwork& inner, const IpNetwork& outer) {
  return inner.prefix_length >= outer.prefix_length && outer.Contains(inner.address);
}

void Add(const IpNetwork& network, std::vector<IpNetwork>& networks) {
  const bool is_there = std::any_of(networks.begin(), networks.end(), [&](const IpNetwork& other) {
    return IsWithin(network, other);
  });
  if (!is_there) networks.push_back(network);
}

}  // namespace

std::vector<WatchedPath> ServiceCidrs::Paths() {
  if (!gives_routes_) return {};
  return {{.path = "/apis/networking.k8s.io/v1/servicecidrs",
           .forbidden = "servicecidrs, to which pods get no routes"}};
}

std::vector<IpNetwork> ServiceCidrs::All() const {
  std::vector<IpNetwork> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [name, cidrs] : objects_) all.insert(all.end(), cidrs.begin(), cidrs.end());
  }
  // A larger one comes before those within it.
  std::sort(all.begin(), all.end(), [](const IpNetwork& one, const IpNetwork& other) {
    return one.prefix_length < other.prefix_length;
  });
  std::vector<IpNetwork> networks = configured_;
  for (const IpNetwork& network : all) Add(network, networks);
  return networks;
}

void ServiceCidrs::OnPresent(const watcher::WatchEvent& event) {
  std::vector<IpNetwork> cidrs;
  for (const nlohmann::json& text : MemberAt(MemberAt(*event.object, "spec"), "cidrs")) {
    if (!text.is_string()) continue;
    if (const auto cidr = IpNetwork::Parse(text.get_ref<const std::string&>()))
      cidrs.push_back(cidr->Masked());
  }
  const MutexLock lock(mutex_);
  objects_[event.name] = std::move(cidrs);
}

void ServiceCidrs::OnDeleted(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  objects_.erase(event.name);
}

}  // namespace kuryr::controller
