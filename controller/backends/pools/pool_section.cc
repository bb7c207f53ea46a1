#include "controller/backends/pools/pool_section.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "config/pool_link.h"

namespace kuryr::controller::pools {
namespace {

constexpr const char* kOptions[] = {
    "bridge",        "bridge_interface", "cidr", "default",    "dns",         "excluded",
    "from_node",     "gateway",          "mtu",  "namespaces", "node_prefix", "pods",
    "port_security", "ranges",           "rest", "routes",     "vif",         "vlan",
    "vlan_ids"};

/// The least MTU of an IPv6 link (RFC 8200, 5).
constexpr uint32_t kLeastIpv6Mtu = 1280;
constexpr size_t kMostLabel = 63;
/// A node takes at most 256 routes for a VIF; those to the gateways are among them.
constexpr size_t kMostRoutes = 250;

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

std::string Quoted(const std::string& text) { return "\"" + Printable(text) + "\""; }

bool IsDnsLabel(const std::string& text) {
  return IsDnsName(text) && text.size() <= kMostLabel && text.find('.') == std::string::npos;
}

bool IsLinkLocal(const IpAddress& address) {
  return IpNetwork::Parse("fe80::/10")->Contains(address) ||
         IpNetwork::Parse("169.254.0.0/16")->Contains(address);
}

/// At most 317 characters of a Kubernetes label: a-z, A-Z, 0-9 and `others`.
bool IsLabelText(std::string_view text, std::string_view others) {
  return text.size() <= 317 && std::all_of(text.begin(), text.end(), [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  others.find(c) != std::string_view::npos;
         });
}

class Section {
 public:
  Section(const ConfigFiles& files, std::string name) : files_(files), name_(std::move(name)) {}

  Pool Read();

 private:
  [[nodiscard]] Option Find(const char* name) const { return files_.Find(name_, name); }
  [[nodiscard]] bool IsSet(const char* name) const { return Find(name).set(); }
  /// The items of a list; commas or line ends separate them.
  [[nodiscard]] std::vector<std::string> List(const char* name) const;
  [[nodiscard]] std::string Where(const char* name) const { return files_.WhereOf(name_, name); }
  [[noreturn]] void RefuseOption(const char* name, const std::string& why) const {
    Refuse(Where(name), why);
  }

  void CheckNames() const;
  void ReadLink();
  void ReadVlans();
  void ReadUsers();
  void ReadPods();
  void ReadNode();
  void ReadBlocks();
  void ReadSubnets();
  void ReadMtu();
  void ReadDns();
  void ReadRoutes();

  [[nodiscard]] std::vector<IpNetwork> Cidrs() const;
  [[nodiscard]] std::optional<IpAddress> GatewayOf(const IpNetwork& cidr,
                                                   const std::vector<IpNetwork>& cidrs) const;
  [[nodiscard]] IpAddress Gateway(const std::string& text,
                                  const std::vector<IpNetwork>& cidrs) const;
  /// For a gateway outside of every cidr: requires a link-local one, which every pod reaches on its
  /// link.
  void RequireOnLink(const IpAddress& gateway, const std::vector<IpNetwork>& cidrs) const;
  [[nodiscard]] Range ParseRange(const char* option, const std::string& text) const;
  [[nodiscard]] std::vector<Range> Ranges(const char* option,
                                          const std::vector<IpNetwork>& cidrs) const;
  [[nodiscard]] PoolRoute ParseRoute(const std::string& text) const;
  /// Refuses an address of a family that the pool does not have.
  void CheckFamily(const char* option, const IpAddress& address) const;

  const ConfigFiles& files_;
  std::string name_;
  Pool pool_;
};

std::vector<std::string> Section::List(const char* name) const {
  Option option = Find(name);
  if (option.value) std::replace(option.value->begin(), option.value->end(), '\n', ',');
  std::vector<std::string> items;
  kuryr::Take(option, items);
  return items;
}

Pool Section::Read() {
  CheckNames();
  ReadLink();
  ReadVlans();
  ReadUsers();
  ReadPods();
  ReadNode();
  ReadSubnets();
  ReadMtu();
  ReadDns();
  ReadRoutes();
  return std::move(pool_);
}

void Section::CheckNames() const {
  for (const std::string& option : files_.OptionsOf(name_)) {
    const bool known =
        std::find(std::begin(kOptions), std::end(kOptions), option) != std::end(kOptions);
    if (known) continue;
    std::string all;
    for (const char* name : kOptions) all += (all.empty() ? "" : ", ") + std::string(name);
    RefuseOption(Printable(option).c_str(), "is no option of a pool; those are " + all);
  }
}

void Section::ReadLink() {
  pool_.name = name_.substr(std::strlen("pool:"));
  if (!IsDnsLabel(pool_.name)) {
    RefuseOption("cidr", "the pool's name " + Quoted(pool_.name) +
                             " is no DNS label: at most 63 of a-z, 0-9 and '-', with a letter or "
                             "digit at both ends");
  }
  PoolLink link = ReadPoolLink(files_, name_);
  pool_.kind = link.kind;
  pool_.bridge = std::move(link.bridge);
  pool_.bridge_interface = std::move(link.bridge_interface);
}

void Section::ReadVlans() {
  if (IsSet("vlan")) {
    uint32_t vlan = 0;
    kuryr::Take(Find("vlan"), vlan, 1, 4094);
    pool_.vlan = static_cast<uint16_t>(vlan);
    if (pool_.kind == VifKind::kVlan)
      RefuseOption("vlan", "is the network's; of pods it is vlan_ids");
    if (pool_.kind != VifKind::kBridge)
      RefuseOption("vlan",
                   "is for vif = bridge; remove it, and give the VLAN where the bridge or "
                   "link is made");
  }
  if (pool_.vlan.has_value() == pool_.bridge_interface.empty()) {
    RefuseOption(pool_.vlan ? "bridge_interface" : "vlan",
                 "is missing: vlan and bridge_interface are given together, for vif = bridge");
  }
  if (!IsSet("vlan_ids")) return;
  if (pool_.kind != VifKind::kVlan) RefuseOption("vlan_ids", "is for vif = vlan: remove it");
  const std::string text = *Find("vlan_ids").value;
  const size_t dash = text.find('-');
  uint32_t first = 0;
  uint32_t last = 0;
  const std::string where = Where("vlan_ids");
  kuryr::Take({where, Trim(text.substr(0, dash))}, first, 1, 4094);
  last = first;
  if (dash != std::string::npos)
    kuryr::Take({where, Trim(text.substr(dash + 1))}, last, first, 4094);
  pool_.vlan_ids = {first, last};
}

void Section::ReadUsers() {
  for (const std::string& name : List("namespaces")) {
    if (name == "*") {
      pool_.all_namespaces = true;
    } else if (IsDnsLabel(name)) {
      pool_.namespaces.push_back(name);
    } else {
      RefuseOption("namespaces", Quoted(name) + " is no namespace's name, nor * for all");
    }
  }
  if (IsSet("default")) kuryr::Take(Find("default"), pool_.is_default);
  if (IsSet("port_security")) kuryr::Take(Find("port_security"), pool_.port_security.emplace(true));
  if (IsSet("rest")) kuryr::Take(Find("rest"), pool_.rest, 86400, 0);
}

void Section::ReadPods() {
  for (const std::string& item : List("pods")) {
    const size_t equals = item.find('=');
    const std::string key = Trim(item.substr(0, equals));
    const std::string value = equals == std::string::npos ? "" : Trim(item.substr(equals + 1));
    if (equals == std::string::npos || key.empty() || !IsLabelText(key, "/._-") ||
        !IsLabelText(value, "._-"))
      RefuseOption("pods", Quoted(item) + " is no label: expected KEY=VALUE");
    if (!pool_.pods.emplace(key, value).second)
      RefuseOption("pods", Quoted(key) + " is there twice: no pod has both");
  }
}

void Section::ReadNode() {
  if (IsSet("from_node")) kuryr::Take(Find("from_node"), pool_.from_node);
  pool_.pod_cidrs = pool_.from_node;
  if (IsSet("node_prefix")) ReadBlocks();
  if (!pool_.from_node) return;
  if (IsSet("cidr") && !IsSet("node_prefix"))
    RefuseOption("cidr",
                 "is the node's with from_node = true: remove one of them, or set "
                 "node_prefix for nodes that have none");
  if (IsSet("ranges"))
    RefuseOption("ranges", "is the node's with from_node = true: remove one of them");
  const std::vector<std::string> gateways = List("gateway");
  if (!gateways.empty() && gateways != std::vector<std::string>{"none"}) {
    RefuseOption("gateway",
                 "is the first address of the node's network with from_node = true: remove it, or "
                 "say none");
  }
  pool_.node_gateways = gateways.empty();
  for (const std::string& item : List("excluded"))
    pool_.excluded.push_back(ParseRange("excluded", item));
}

void Section::ReadBlocks() {
  constexpr uint32_t kWidest = 16;
  const std::vector<IpNetwork> cidrs = Cidrs();
  const std::vector<std::string> texts = List("node_prefix");
  if (texts.size() != cidrs.size())
    RefuseOption("node_prefix", "has " + std::to_string(texts.size()) + " lengths, and cidr has " +
                                    std::to_string(cidrs.size()) +
                                    " networks: write one for each, IPv4 first");
  for (size_t i = 0; i < cidrs.size(); ++i) {
    const uint32_t least = cidrs[i].prefix_length + 1U;
    const uint32_t most =
        std::min(least - 1 + kWidest, cidrs[i].address.family == IpFamily::kIpv4 ? 30U : 126U);
    if (least > most)
      RefuseOption("node_prefix", cidrs[i].ToString() + " is too small for blocks of nodes");
    uint32_t length = 0;
    kuryr::Take({Where("node_prefix"), texts[i]}, length, least, most);
    pool_.blocks.push_back({.cidr = cidrs[i], .prefix_length = static_cast<uint8_t>(length)});
  }
  pool_.from_node = true;
}

std::vector<IpNetwork> Section::Cidrs() const {
  std::vector<IpNetwork> cidrs;
  for (const std::string& text : List("cidr")) {
    const auto cidr = IpNetwork::Parse(text);
    if (!cidr || text.find('/') == std::string::npos)
      RefuseOption("cidr", Quoted(text) + " is no network: expected ADDRESS/LENGTH");
    if (const auto why = WhyNoSubnet(*cidr)) RefuseOption("cidr", *why);
    for (const IpNetwork& other : cidrs) {
      if (other.address.family == cidr->address.family)
        RefuseOption("cidr", other.ToString() + " and " + cidr->ToString() +
                                 " are of one family; a pool has one of each at most");
    }
    cidrs.push_back(*cidr);
  }
  if (cidrs.empty())
    RefuseOption("cidr", "is missing: the network of the pool's pods, or set from_node = true");
  std::sort(cidrs.begin(), cidrs.end());
  return cidrs;
}

void Section::ReadSubnets() {
  if (pool_.from_node) return;
  const std::vector<IpNetwork> cidrs = Cidrs();
  const std::vector<Range> ranges = Ranges("ranges", cidrs);
  const std::vector<Range> excluded = Ranges("excluded", cidrs);
  for (const IpNetwork& cidr : cidrs) {
    std::vector<Range> own;
    std::copy_if(ranges.begin(), ranges.end(), std::back_inserter(own),
                 [&](const Range& range) { return range.Overlaps(RangeOf(cidr)); });
    pool_.subnets.push_back(MakePoolSubnet(cidr, GatewayOf(cidr, cidrs), own, excluded));
    if (!pool_.subnets.back().addresses.empty()) continue;
    const char* option = IsSet("ranges") ? "ranges" : IsSet("excluded") ? "excluded" : "cidr";
    RefuseOption(option, "no address of " + cidr.ToString() +
                             " is left for pods, beside the network's own, the gateway and what is "
                             "excluded; give a wider range");
  }
}

void Section::RequireOnLink(const IpAddress& gateway, const std::vector<IpNetwork>& cidrs) const {
  const std::string text = gateway.ToString();
  if (!IsLinkLocal(gateway))
    RefuseOption("gateway", text +
                                " is outside of cidr; pods reach a gateway of their own network, "
                                "or one of fe80::/10 or 169.254.0.0/16");
  const bool has_family = std::any_of(cidrs.begin(), cidrs.end(), [&](const IpNetwork& cidr) {
    return cidr.address.family == gateway.family;
  });
  if (!has_family) RefuseOption("gateway", text + " is of a family that cidr does not have");
}

IpAddress Section::Gateway(const std::string& text, const std::vector<IpNetwork>& cidrs) const {
  const auto address = IpAddress::Parse(text);
  if (!address) RefuseOption("gateway", Quoted(text) + " is neither an address nor none");
  const auto cidr = std::find_if(cidrs.begin(), cidrs.end(),
                                 [&](const IpNetwork& known) { return known.Contains(*address); });
  if (cidr == cidrs.end()) {
    RequireOnLink(*address, cidrs);
    return *address;
  }
  if (IsReserved(*cidr, *address))
    RefuseOption("gateway", text + " is the network's own address in " + cidr->ToString() +
                                "; the first that may be one is " +
                                DefaultGateway(*cidr)->ToString());
  return *address;
}

std::optional<IpAddress> Section::GatewayOf(const IpNetwork& cidr,
                                            const std::vector<IpNetwork>& cidrs) const {
  std::optional<IpAddress> found;
  const std::vector<std::string> items = List("gateway");
  for (const std::string& item : items) {
    if (item == "none") continue;
    const IpAddress address = Gateway(item, cidrs);
    if (address.family != cidr.address.family) continue;
    if (found) RefuseOption("gateway", "there are two for " + cidr.ToString());
    found = address;
  }
  const bool none = std::find(items.begin(), items.end(), "none") != items.end();
  return found || none ? found : DefaultGateway(cidr);
}

Range Section::ParseRange(const char* option, const std::string& text) const {
  const size_t dash = text.find('-');
  if (dash == std::string::npos) {
    const auto network = IpNetwork::Parse(text);
    if (!network)
      RefuseOption(option, Quoted(text) + " is none of ADDRESS, ADDRESS/LENGTH and FIRST-LAST");
    if (network->Masked() != *network)
      RefuseOption(option, text + " has host bits; the network is " + network->Masked().ToString());
    return RangeOf(*network);
  }
  const auto first = IpAddress::Parse(Trim(text.substr(0, dash)));
  const auto last = IpAddress::Parse(Trim(text.substr(dash + 1)));
  if (!first || !last || first->family != last->family)
    RefuseOption(option, Quoted(text) + " is no range: expected two addresses, FIRST-LAST");
  if (*last < *first)
    RefuseOption(option, text + " is empty: its last address is before its first");
  return {NumberOf(*first), NumberOf(*last)};
}

std::vector<Range> Section::Ranges(const char* option, const std::vector<IpNetwork>& cidrs) const {
  std::vector<Range> ranges;
  for (const std::string& text : List(option)) {
    const Range range = ParseRange(option, text);
    const bool inside = std::any_of(cidrs.begin(), cidrs.end(), [&](const IpNetwork& cidr) {
      return RangeOf(cidr).Contains(range.first) && RangeOf(cidr).Contains(range.last);
    });
    if (!inside) RefuseOption(option, text + " is outside of cidr");
    ranges.push_back(range);
  }
  return ranges;
}

void Section::ReadMtu() {
  if (!IsSet("mtu")) return;
  const bool ipv6 = std::any_of(pool_.subnets.begin(), pool_.subnets.end(), [](const auto& subnet) {
    return subnet.cidr.address.family == IpFamily::kIpv6;
  });
  uint32_t mtu = 0;
  kuryr::Take(Find("mtu"), mtu, 68, 65535);
  if (ipv6 && mtu < kLeastIpv6Mtu) {
    RefuseOption("mtu", std::to_string(mtu) + " is too small for IPv6, which needs " +
                            std::to_string(kLeastIpv6Mtu));
  }
  pool_.mtu = mtu;
}

void Section::CheckFamily(const char* option, const IpAddress& address) const {
  const bool has =
      pool_.from_node ||
      std::any_of(pool_.subnets.begin(), pool_.subnets.end(), [&](const PoolSubnet& subnet) {
        return subnet.cidr.address.family == address.family;
      });
  if (!has) {
    RefuseOption(option, address.ToString() +
                             " is of a family that cidr does not have: pods of "
                             "this pool cannot reach it");
  }
}

void Section::ReadDns() {
  for (const std::string& text : List("dns")) {
    const auto address = IpAddress::Parse(text);
    if (!address) RefuseOption("dns", Quoted(text) + " is no address");
    CheckFamily("dns", *address);
    pool_.dns.push_back(*address);
  }
}

PoolRoute Section::ParseRoute(const std::string& text) const {
  constexpr std::string_view kVia = " via ";
  const size_t via = text.find(kVia);
  const auto destination = IpNetwork::Parse(Trim(text.substr(0, via)));
  if (!destination)
    RefuseOption("routes", Quoted(text) + " is neither NETWORK via GATEWAY nor NETWORK");
  if (destination->Masked() != *destination)
    RefuseOption("routes", destination->ToString() + " has host bits; the network is " +
                               destination->Masked().ToString());
  CheckFamily("routes", destination->address);
  if (via == std::string::npos) return {.destination = *destination};
  const auto gateway = IpAddress::Parse(Trim(text.substr(via + kVia.size())));
  if (!gateway || gateway->family != destination->address.family)
    RefuseOption("routes", Quoted(text) + ": expected a gateway of the family of " +
                               destination->ToString() + " after \"via\"");
  return {.destination = *destination, .gateway = gateway};
}

void Section::ReadRoutes() {
  for (const std::string& text : List("routes")) pool_.routes.push_back(ParseRoute(text));
  if (pool_.routes.size() > kMostRoutes) {
    RefuseOption("routes", std::to_string(pool_.routes.size()) +
                               " are more than nodes take; the most are " +
                               std::to_string(kMostRoutes));
  }
}

}  // namespace

Pool ReadPoolSection(const ConfigFiles& files, const std::string& section) {
  return Section(files, section).Read();
}

}  // namespace kuryr::controller::pools
