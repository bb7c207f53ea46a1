#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "controller/backends/pools/pool_backend.h"
#include "controller/backends/pools/pool_vif.h"
#include "controller/cluster/ipam_claims.h"
#include "controller/cluster/network_attachments.h"
#include "controller/plan/default_route.h"
#include "controller/plan/network_selection.h"
#include "controller/rounds/pod_request.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using pools::PoolBackend;

constexpr const char* kPools =
    "[pool:lan]\ncidr = 10.1.0.0/28\nnamespaces = tenant\n"
    "[pool:shared]\ncidr = 10.3.0.0/28, fd00:3::/64\nnamespaces = *\n"
    "[pool:other]\ncidr = 10.2.0.0/28\nnamespaces = other\n"
    "[pool:labelled]\ncidr = 10.4.0.0/28\npods = access=granted\n"
    "[pool:vlan]\nvif = vlan\nvlan_ids = 5-9\ncidr = 10.5.0.0/28\nnamespaces = other\n";
constexpr const char* kTheirAddress = "10.3.0.5";
constexpr const char* kTheirClaimed = "10.3.0.6";
constexpr const char* kTheirMac = "0a:00:00:00:00:05";
const Owner kVictim = {.id = "victim", .scope = "other", .name = "victim", .node = "node1"};

void Require(bool fact) {
  if (!fact) std::abort();
}

const std::vector<pools::Pool>& Pools() {
  static const std::vector<pools::Pool> kRead = [] {
    SetLogLevel(LogLevel::kError);
    const int file = ::memfd_create("pools", 0);
    const std::string_view text = kPools;
    Require(::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    return pools::ReadPools(ConfigFiles({"/proc/self/fd/" + std::to_string(file)}));
  }();
  return kRead;
}

/// The texts of namespace "tenant", a line each; the last one has the rest.
struct Wishes {
  explicit Wishes(std::string_view text) {
    for (std::string& line : lines) {
      const size_t end = std::min(text.find('\n'), text.size());
      line = text.substr(0, &line == &lines.back() ? text.size() : end);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::array<std::string, 6> lines;
  const std::string& addresses = lines[0];
  const std::string& mac = lines[1];
  const std::string& claim = lines[2];
  const std::string& claim_status = lines[3];
  const std::string& definition = lines[4];
  const std::string& networks = lines[5];
};

watcher::WatchEvent Added(const char* kind, const char* name_space, const std::string& name,
                          json rest) {
  rest["kind"] = kind;
  rest["metadata"]["namespace"] = name_space;
  rest["metadata"]["name"] = name;
  rest["metadata"]["uid"] = std::string(name_space) + "-" + name;
  return watcher::MakeEvent(watcher::EventType::kAdded, std::move(rest));
}

json Annotated(const json& annotations) { return {{"metadata", {{"annotations", annotations}}}}; }

/// A pod of namespace "tenant", beside another namespace that has addresses.
class Tenant {
 public:
  explicit Tenant(const Wishes& wishes) : backend_(Pools(), 1) {
    const InterfaceRequest theirs = {.ifname = "eth0",
                                     .is_default = true,
                                     .network = "shared",
                                     .addresses = {IpAddress::Parse(kTheirAddress).value()},
                                     .mac = MacAddress::Parse(kTheirMac)};
    Require(backend_.Reserve({.owner = kVictim, .interfaces = {theirs}}).has_value());
    claims_.BeginTerm({backend_});
    claims_.Handle(Added("IPAMClaim", "other", "c",
                         {{"status", {{"ips", {kTheirClaimed + std::string("/28")}}}}}));
    claims_.Handle(Added("IPAMClaim", "tenant", "c",
                         {{"status", json::parse(wishes.claim_status, nullptr, false)}}));
    Define("other", "net", R"({"pool": "other"})");
    Define("other", "shared", R"({"pool": "shared"})");
    Define("tenant", "net", wishes.definition);
  }

  PlanRequest RequestOf(const Wishes& wishes) {
    const auto pod = Added("Pod", "tenant", "pod",
                           Annotated({{kAddressesAnnotation, wishes.addresses},
                                      {kMacAnnotation, wishes.mac},
                                      {kClaimAnnotation, wishes.claim},
                                      {kFormerAnnotation, wishes.addresses},
                                      {kNetworksAnnotation, wishes.networks}}));
    Require(FormerOn(pod).size() <= kMostFormer);
    return PlanRequestOf(PodFactsOf(pod, {"access"}), {}, attachments_, claims_);
  }
  PoolBackend& backend() { return backend_; }

 private:
  void Define(const char* name_space, const std::string& name, const std::string& config) {
    attachments_.Handle(Added("NetworkAttachmentDefinition", name_space, name,
                              Annotated({{"openstack.org/kuryr-config", config}})));
  }

  PoolBackend backend_;
  NetworkAttachments attachments_{KindParts{}};
  IpamClaims claims_{KindParts{}};
};

bool MayHave(const IpAddress& address) {
  const auto in = [&](const char* network) {
    return IpNetwork::Parse(network).value().Contains(address);
  };
  const std::string text = address.ToString();
  return (in("10.1.0.0/28") || in("10.3.0.0/28") || in("fd00:3::/64")) && text != kTheirAddress &&
         text != kTheirClaimed && text != "10.1.0.1" && text != "10.3.0.1" && text != "fd00:3::1";
}

/// Requires that the plan has only what the namespace was given, and nothing that another owner
/// has.
void Check(const std::vector<vif::PodVif>& vifs) {
  Require(!vifs.empty() && vifs.size() <= kMostNetworks + 1 && vifs.front().is_default);
  std::set<std::string> ifnames;
  std::set<std::string> addresses;
  for (const vif::PodVif& vif : vifs) {
    const vif::VifBase& common = vif::Common(vif.vif);
    Require(ifnames.insert(vif.ifname).second);
    const std::string network = common.network->id.value();
    Require(network == pools::NetworkIdOf("lan") || network == pools::NetworkIdOf("shared"));
    Require(network != pools::NetworkIdOf("shared") ||
            common.address.value() != MacAddress::Parse(kTheirMac).value());
    const std::vector<IpNetwork> given = vif::AddressesOf(common);
    Require(!given.empty());
    for (const IpNetwork& ip : given)
      Require(MayHave(ip.address) && addresses.insert(ip.address.ToString()).second);
  }
  std::vector<vif::PodVif> written = vifs;
  MoveDefaultRoute(written);
  Require(vif::DecodeAnnotation(vif::EncodeAnnotation(written)).size() == vifs.size());
}

}  // namespace
}  // namespace kuryr::controller

/// The wishes of a pod's user, an IPAMClaim and a definition of one namespace are planned from its
/// own pools, or refused without a trace.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr::controller;
  const Wishes wishes({reinterpret_cast<const char*>(data), size});
  Tenant tenant(wishes);
  try {
    const PlanRequest request = tenant.RequestOf(wishes);
    const auto vifs = tenant.backend().Reserve(request);
    Require(vifs.has_value());
    Check(*vifs);
    Require(tenant.backend().Reserve(request) == vifs);
    Require(tenant.backend().Release(request.owner.id));
  } catch (const PlanError& e) {
    Require(std::string(e.what()).size() < 1000);
  }
  for (const Owner& owner : tenant.backend().Inventory()) Require(owner.id != "tenant-pod");
  return 0;
}
