#include <algorithm>
#include <string>
#include <vector>

#include "binding/links/interfaces.h"
#include "binding/netlink/route_socket.h"
#include "binding/node/node_part.h"

namespace kuryr::binding {
namespace {

/// The kernel gives such an address to each link with IPv6.
bool IsLinksOwn(const IpNetwork& address) {
  static const IpNetwork kLinkLocal = IpNetwork::Parse("fe80::/10").value();
  return kLinkLocal.Contains(address.address);
}

std::vector<IpNetwork> Without(const std::vector<IpNetwork>& all,
                               const std::vector<IpNetwork>& some) {
  std::vector<IpNetwork> rest;
  for (const IpNetwork& address : all) {
    if (std::find(some.begin(), some.end(), address) == some.end()) rest.push_back(address);
  }
  return rest;
}

class AddressPart final : public NodePart {
 public:
  explicit AddressPart(const NodePlan& plan) : port_(plan.port) {}

  [[nodiscard]] const char* name() const override { return "addresses"; }

  [[nodiscard]] Differences Check(const Deadline& /*deadline*/) override {
    RouteSocket host;
    const std::vector<IpNetwork> there = Present(host, Find(host, port_.name));
    Differences found;
    const auto tell = [&](const IpNetwork& address, const std::string& text) {
      found.push_back({.kind = DifferenceKind::kAddress,
                       .what = address.ToString(),
                       .text = "link " + port_.name + text + address.ToString(),
                       .live_safe = true});
    };
    for (const IpNetwork& address : Without(port_.addresses, there))
      tell(address, " lacks address ");
    for (const IpNetwork& address : Without(there, port_.addresses))
      tell(address, " has another address ");
    return found;
  }

  void Make(const Deadline& /*deadline*/) override {
    RouteSocket host;
    const Link link = Find(host, port_.name);
    // One with another prefix length would be in the way. An IPv4 address may take others with it.
    for (const IpNetwork& address : Without(Present(host, link), port_.addresses))
      host.RemoveAddress(link, address);
    for (const IpNetwork& address : Without(port_.addresses, Present(host, link)))
      host.AddAddress(link, address);
  }

 private:
  static std::vector<IpNetwork> Present(RouteSocket& host, const Link& link) {
    std::vector<IpNetwork> present = host.AddressesOf(link);
    std::erase_if(present, IsLinksOwn);
    return present;
  }

  const ManagementPort& port_;
};

}  // namespace

std::unique_ptr<NodePart> NewAddressPart(const NodePlan& plan) {
  return std::make_unique<AddressPart>(plan);
}

}  // namespace kuryr::binding
