#include "controller/backends/neutron/client/neutron_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "controller/backends/neutron/client/decode.h"
#include "controller/backends/neutron/client/encode.h"
#include "controller/backends/neutron/client/url.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;

constexpr const char* kTagsExtension = "tag-ports-during-bulk-creation";
/// A URL of more than 8 kB is a 414; each id takes 40 bytes of it.
constexpr size_t kMostIds = 150;
constexpr const char* kPageSize = "500";
/// A group comes with its rules.
constexpr const char* kGroupPageSize = "50";

/// For messages: "a port of DEVICE in network ID". A ready one has none, but a host.
std::string Described(const PortRequest& request) {
  const std::string& whose = request.device_id.empty() ? request.host_id : request.device_id;
  return "a port of " + Printable(whose) + " in network " + Printable(request.network_id);
}

/// A tag's comma would part two tags.
std::string TagList(const std::vector<std::string>& tags) {
  std::string list;
  for (const std::string& tag : tags) list += (list.empty() ? "" : ",") + tag;
  return list;
}

std::string ListTarget(const PortFilter& filter, const std::string& marker) {
  return "/ports" + QueryOf({{"name", filter.name},
                             {"project_id", filter.project_id},
                             {"network_id", filter.network_id},
                             {"device_owner", filter.device_owner},
                             {"device_id", filter.device_id},
                             {"description", filter.description},
                             {"binding:host_id", filter.host_id},
                             {"tags", TagList(filter.tags)},
                             {"limit", kPageSize},
                             {"marker", marker}});
}

/// Only what a NodePort has: a port of a virtual machine may be another user's.
std::string NodePortTarget(const NodePortFilter& filter, const std::string& marker) {
  std::vector<std::pair<std::string_view, std::string>> query = {{"id", filter.id}};
  if (filter.address) query.emplace_back("fixed_ips", "ip_address=" + filter.address->ToString());
  if (!filter.subnet_id.empty()) query.emplace_back("fixed_ips", "subnet_id=" + filter.subnet_id);
  for (const char* field :
       {"id", "fixed_ips", "trunk_details", "allowed_address_pairs", "revision_number"})
    query.emplace_back("fields", field);
  query.emplace_back("limit", kPageSize);
  query.emplace_back("marker", marker);
  return "/ports" + QueryOf(query);
}

/// `begin` of a query, and the ids.
std::string IdsTarget(std::string target, std::span<const std::string> ids) {
  for (const std::string& id : ids) target += "&id=" + Escaped(id);
  return target;
}

/// Ports that no pod waits for.
RequestGate::Rank RankOf(const PortRequest& request) {
  const bool is_owned = !request.device_id.empty() || !request.description.empty();
  return is_owned ? RequestGate::Rank::kUsual : RequestGate::Rank::kLast;
}

std::string IfMatch(int64_t revision) { return "revision_number=" + std::to_string(revision); }

/// Neutron's own answer to a malformed id, without asking: it would end up in a URL.
void CheckId(const std::string& what, const std::string& id) {
  if (IsUuid(id)) return;
  throw NeutronError(Kind::kNotFound, what + ": that is no UUID, so there is none",
                     {.status = 404});
}

NeutronError TooLong(const std::string& what, const std::string& most) {
  return {Kind::kUnavailable,
          what + ": Neutron lists more than " + most +
              ", and no more are read: give this cluster a project of its own ([neutron_defaults] "
              "project), and resource_tags that no other has",
          {.status = 200}};
}

}  // namespace

NeutronClient::NeutronClient(const NeutronConfig& config, RequestObserver* observer,
                             const ListLimits& limits)
    : caller_(config, observer), limits_(limits) {}

/// The next page begins behind the last of this one. Its link is not followed: behind a proxy it
/// may name a server that is out of reach.
template <typename Target, typename Decode>
auto NeutronClient::AllPages(RequestKind kind, const std::string& collection, Target target,
                             Decode decode) {
  decltype(decode("").items) all;
  std::set<std::string> seen;
  size_t bytes = 0;
  for (std::string marker;;) {
    const Call call{.kind = kind, .what = "list " + collection, .target = target(marker)};
    auto page = caller_.Decoded(call, [&](const std::string& body) {
      auto next = decode(body);
      if (next.has_next && (next.items.empty() || !seen.insert(next.items.back().id).second))
        throw ParseError("$." + collection + "_links", "names a next page that leads nowhere");
      bytes += body.size();
      return next;
    });
    if (all.size() + page.items.size() > limits_.objects)
      throw TooLong(call.what, std::to_string(limits_.objects) + " objects");
    if (bytes > limits_.bytes) throw TooLong(call.what, std::to_string(limits_.bytes) + " bytes");
    std::move(page.items.begin(), page.items.end(), std::back_inserter(all));
    if (!page.has_next) return all;
    marker = all.back().id;
  }
}

Network NeutronClient::GetNetwork(const std::string& id) {
  const std::string what = "get network " + Printable(id);
  CheckId(what, id);
  return caller_.Decoded(
      {.kind = RequestKind::kNetworkGet, .what = what, .target = "/networks/" + id}, DecodeNetwork);
}

Subnet NeutronClient::GetSubnet(const std::string& id) {
  const std::string what = "get subnet " + Printable(id);
  CheckId(what, id);
  return caller_.Decoded(
      {.kind = RequestKind::kSubnetGet, .what = what, .target = "/subnets/" + id}, DecodeSubnet);
}

std::vector<Subnet> NeutronClient::ListSubnets(const std::string& network_id) {
  const std::string what = "list subnets of network " + Printable(network_id);
  CheckId(what, network_id);
  return caller_.Decoded({.kind = RequestKind::kSubnetList,
                          .what = what,
                          .target = "/subnets?network_id=" + network_id},
                         DecodeSubnets);
}

std::vector<Network> NeutronClient::ListNetworks(const NetworkFilter& filter) {
  return AllPages(
      RequestKind::kNetworkList, "networks",
      [&](const std::string& marker) {
        return "/networks" + QueryOf({{"name", filter.name},
                                      {"project_id", filter.project_id},
                                      {"limit", kPageSize},
                                      {"marker", marker}});
      },
      DecodeNetworks);
}

Network NeutronClient::CreateNetwork(const NetworkRequest& request) {
  const nlohmann::json body = {{"network", EncodeNetworkRequest(request)}};
  return caller_.Decoded({.kind = RequestKind::kNetworkCreate,
                          .what = "create network " + Printable(request.name),
                          .method = "POST",
                          .target = "/networks",
                          .body = body.dump()},
                         DecodeNetwork);
}

void NeutronClient::DescribeNetwork(const std::string& id, const std::string& description) {
  const std::string what = "update network " + Printable(id);
  CheckId(what, id);
  const nlohmann::json network = {{"description", description}};
  const nlohmann::json body = {{"network", network}};
  (void)caller_.Answer({.kind = RequestKind::kNetworkUpdate,
                        .what = what,
                        .method = "PUT",
                        .target = "/networks/" + id,
                        .body = body.dump()});
}

void NeutronClient::DeleteNetwork(const std::string& id) {
  Delete({.kind = RequestKind::kNetworkDelete, .what = "delete network ", .target = "/networks/"},
         id);
}

SubnetPool NeutronClient::GetSubnetPool(const std::string& id) {
  const std::string what = "get subnet pool " + Printable(id);
  CheckId(what, id);
  return caller_.Decoded(
      {.kind = RequestKind::kSubnetPoolGet, .what = what, .target = "/subnetpools/" + id},
      DecodeSubnetPool);
}

Subnet NeutronClient::CreateSubnet(const SubnetRequest& request) {
  const nlohmann::json body = {{"subnet", EncodeSubnetRequest(request)}};
  return caller_.Decoded({.kind = RequestKind::kSubnetCreate,
                          .what = "create subnet " + Printable(request.name) +
                                  " from subnet pool " + Printable(request.pool.id),
                          .method = "POST",
                          .target = "/subnets",
                          .body = body.dump()},
                         DecodeSubnet);
}

void NeutronClient::AddRouterInterface(const std::string& router_id, const std::string& subnet_id) {
  const std::string what =
      "add subnet " + Printable(subnet_id) + " to router " + Printable(router_id);
  CheckId(what, router_id);
  (void)caller_.Answer({.kind = RequestKind::kRouterInterface,
                        .what = what,
                        .method = "PUT",
                        .target = "/routers/" + router_id + "/add_router_interface",
                        .body = nlohmann::json{{"subnet_id", subnet_id}}.dump()});
}

void NeutronClient::RemoveRouterInterface(const std::string& router_id,
                                          const std::string& subnet_id) {
  const std::string what =
      "remove subnet " + Printable(subnet_id) + " from router " + Printable(router_id);
  try {
    CheckId(what, router_id);
    (void)caller_.Answer({.kind = RequestKind::kRouterInterface,
                          .what = what,
                          .method = "PUT",
                          .target = "/routers/" + router_id + "/remove_router_interface",
                          .body = nlohmann::json{{"subnet_id", subnet_id}}.dump()});
  } catch (const NeutronError& e) {
    if (e.kind() != Kind::kNotFound) throw;
  }
}

/// Neutron without the extension has dropped them.
void NeutronClient::AddTags(Port& port, const PortRequest& request) {
  if (request.tags.empty() || TagsAtCreation()) return;
  try {
    SetTags(port.id, request.tags);
    port.tags = request.tags;
  } catch (const NeutronError& e) {
    throw NeutronError(e.kind(), e.what(),
                       {.status = e.status(),
                        .type = e.type(),
                        .retry_after = e.retry_after(),
                        .uncertain = true});
  }
}

nlohmann::json NeutronClient::BodyOf(const PortRequest& request) {
  PortRequest sent = request;
  if (!sent.tags.empty() && !TagsAtCreation()) sent.tags.clear();
  return EncodePortRequest(sent);
}

Port NeutronClient::CreatePort(const PortRequest& request) {
  const nlohmann::json body = {{"port", BodyOf(request)}};
  Port port = caller_.Decoded({.kind = RequestKind::kPortCreate,
                               .what = "create " + Described(request),
                               .method = "POST",
                               .target = "/ports",
                               .body = body.dump(),
                               .rank = RankOf(request)},
                              DecodePort);
  AddTags(port, request);
  return port;
}

std::vector<Port> NeutronClient::CreatePorts(const std::vector<PortRequest>& requests) {
  if (requests.empty()) return {};
  nlohmann::json body = {{"ports", nlohmann::json::array()}};
  for (const PortRequest& request : requests) body["ports"].push_back(BodyOf(request));
  const std::string others = " and " + std::to_string(requests.size() - 1) + " more";
  const Call call{.kind = RequestKind::kPortBulkCreate,
                  .what = "create " + Described(requests.front()) + others,
                  .method = "POST",
                  .target = "/ports",
                  .body = body.dump(),
                  .rank = RankOf(requests.front())};
  std::vector<Port> ports = caller_.Decoded(call, [&](const std::string& answer) {
    std::vector<Port> made = DecodePorts(answer).items;
    if (made.size() != requests.size())
      throw ParseError("$.ports", "has " + std::to_string(made.size()) + " ports of " +
                                      std::to_string(requests.size()));
    return made;
  });
  for (size_t i = 0; i < ports.size(); ++i) AddTags(ports[i], requests[i]);
  return ports;
}

Port NeutronClient::BindPort(const std::string& id, const std::string& host_id) {
  return UpdatePort(id, {.host_id = host_id});
}

Port NeutronClient::UpdatePort(const std::string& id, const PortUpdate& update) {
  const std::string what = "update port " + Printable(id);
  CheckId(what, id);
  const nlohmann::json body = {{"port", EncodePortUpdate(update)}};
  return caller_.Decoded({.kind = RequestKind::kPortUpdate,
                          .what = what,
                          .method = "PUT",
                          .target = "/ports/" + id,
                          .body = body.dump(),
                          .if_match = update.revision ? IfMatch(*update.revision) : ""},
                         DecodePort);
}

/// `call` without its method; what and target want the id.
void NeutronClient::Delete(Call call, const std::string& id) {
  call.what += Printable(id);
  call.method = "DELETE";
  call.target += id;
  try {
    CheckId(call.what, id);
    (void)caller_.Answer(call);
  } catch (const NeutronError& e) {
    if (e.kind() != Kind::kNotFound) throw;
  }
}

void NeutronClient::PutTags(RequestKind kind, const std::string& thing, const std::string& id,
                            const std::vector<std::string>& tags) {
  const std::string what = "set tags of " + thing + " " + Printable(id);
  CheckId(what, id);
  (void)caller_.Answer({.kind = kind,
                        .what = what,
                        .method = "PUT",
                        .target = "/" + thing + "s/" + id + "/tags",
                        .body = nlohmann::json{{"tags", tags}}.dump()});
}

void NeutronClient::SetTags(const std::string& id, const std::vector<std::string>& tags) {
  PutTags(RequestKind::kPortTags, "port", id, tags);
}

void NeutronClient::SetNetworkTags(const std::string& id, const std::vector<std::string>& tags) {
  PutTags(RequestKind::kNetworkTags, "network", id, tags);
}

void NeutronClient::SetSubnetTags(const std::string& id, const std::vector<std::string>& tags) {
  PutTags(RequestKind::kSubnetTags, "subnet", id, tags);
}

void NeutronClient::DeletePort(const std::string& id) {
  Delete({.kind = RequestKind::kPortDelete, .what = "delete port ", .target = "/ports/"}, id);
}

Port NeutronClient::GetPort(const std::string& id) {
  const std::string what = "get port " + Printable(id);
  CheckId(what, id);
  return caller_.Decoded({.kind = RequestKind::kPortGet, .what = what, .target = "/ports/" + id},
                         DecodePort);
}

std::vector<Port> NeutronClient::ListPorts(const PortFilter& filter) {
  return AllPages(
      RequestKind::kPortList, "ports",
      [&](const std::string& marker) { return ListTarget(filter, marker); }, DecodePorts);
}

std::vector<NodePort> NeutronClient::ListNodePorts(const NodePortFilter& filter) {
  return AllPages(
      RequestKind::kNodePortList, "ports",
      [&](const std::string& marker) { return NodePortTarget(filter, marker); }, DecodeNodePorts);
}

std::vector<SecurityGroup> NeutronClient::ListSecurityGroups(const SecurityGroupFilter& filter) {
  return AllPages(
      RequestKind::kGroupList, "security_groups",
      [&](const std::string& marker) {
        return "/security-groups" + QueryOf({{"project_id", filter.project_id},
                                             {"description", filter.description},
                                             {"tags", TagList(filter.tags)},
                                             {"limit", kGroupPageSize},
                                             {"marker", marker}});
      },
      DecodeSecurityGroups);
}

void NeutronClient::AddSubPort(const std::string& trunk_id, const SubPort& sub_port) {
  const std::string what = "add port " + Printable(sub_port.port_id) + " with VLAN " +
                           std::to_string(sub_port.vlan) + " to trunk " + Printable(trunk_id);
  CheckId(what, trunk_id);
  const nlohmann::json body = {{"sub_ports", nlohmann::json::array({EncodeSubPort(sub_port)})}};
  (void)caller_.Answer({.kind = RequestKind::kSubPortAdd,
                        .what = what,
                        .method = "PUT",
                        .target = "/trunks/" + trunk_id + "/add_subports",
                        .body = body.dump()});
}

void NeutronClient::RemoveSubPort(const std::string& trunk_id, const std::string& port_id) {
  const std::string what =
      "remove port " + Printable(port_id) + " from trunk " + Printable(trunk_id);
  const nlohmann::json port = {{"port_id", port_id}};
  const nlohmann::json body = {{"sub_ports", nlohmann::json::array({port})}};
  try {
    CheckId(what, trunk_id);
    (void)caller_.Answer({.kind = RequestKind::kSubPortRemove,
                          .what = what,
                          .method = "PUT",
                          .target = "/trunks/" + trunk_id + "/remove_subports",
                          .body = body.dump()});
  } catch (const NeutronError& e) {
    if (e.kind() != Kind::kNotFound) throw;
  }
}

void NeutronClient::SetAddressPairs(const std::string& port_id,
                                    const std::vector<AddressPair>& pairs, int64_t revision) {
  const std::string what = "set allowed_address_pairs of port " + Printable(port_id);
  CheckId(what, port_id);
  const nlohmann::json port = {{"allowed_address_pairs", EncodeAddressPairs(pairs)}};
  const nlohmann::json body = {{"port", port}};
  (void)caller_.Answer({.kind = RequestKind::kAddressPairs,
                        .what = what,
                        .method = "PUT",
                        .target = "/ports/" + port_id,
                        .body = body.dump(),
                        .if_match = IfMatch(revision)});
}

/// `call` without its target, whose begin is `target`.
std::vector<std::string> NeutronClient::IdsAmong(const std::vector<std::string>& ids, Call call,
                                                 const std::string& target) {
  std::vector<std::string> found;
  for (size_t begin = 0; begin < ids.size(); begin += kMostIds) {
    const auto chunk = std::span(ids).subspan(begin, std::min(kMostIds, ids.size() - begin));
    call.target = IdsTarget(target, chunk);
    const std::vector<std::string> some = caller_.Decoded(call, DecodePortIds);
    found.insert(found.end(), some.begin(), some.end());
  }
  return found;
}

std::vector<std::string> NeutronClient::ActivePorts(const std::vector<std::string>& ids) {
  return IdsAmong(ids,
                  {.kind = RequestKind::kPortPoll,
                   .what = "ask which of " + std::to_string(ids.size()) + " ports are ACTIVE"},
                  "/ports?status=ACTIVE&fields=id");
}

std::vector<std::string> NeutronClient::ExistingPorts(const std::vector<std::string>& ids) {
  return IdsAmong(ids,
                  {.kind = RequestKind::kPortLook,
                   .what = "ask which of " + std::to_string(ids.size()) + " ports there are",
                   .rank = RequestGate::Rank::kLast},
                  "/ports?fields=id");
}

/// A project's id is 32 digits, and need not be.
std::optional<PortQuota> NeutronClient::GetPortQuota(const std::string& project_id) {
  const std::string id = project_id.empty() ? caller_.project_id() : project_id;
  if (id.empty()) return std::nullopt;
  return caller_.Decoded({.kind = RequestKind::kQuotaGet,
                          .what = "get the quota of project " + Printable(id),
                          .target = "/quotas/" + Escaped(id) + "/details"},
                         DecodePortQuota);
}

bool NeutronClient::TagsAtCreation() {
  {
    const MutexLock lock(mutex_);
    if (tags_at_creation_) return *tags_at_creation_;
  }
  const bool takes =
      caller_.Decoded({.kind = RequestKind::kExtensions,
                       .what = "list Neutron's extensions",
                       .target = "/extensions"},
                      [](const std::string& body) { return HasExtension(body, kTagsExtension); });
  const MutexLock lock(mutex_);
  tags_at_creation_ = takes;
  return takes;
}

}  // namespace kuryr::controller::neutron
