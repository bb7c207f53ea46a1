#include "controller/neutron/client/neutron_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "controller/neutron/client/decode.h"
#include "controller/neutron/client/encode.h"
#include "controller/neutron/client/refusal.h"
#include "controller/neutron/client/url.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;
using Clock = std::chrono::steady_clock;

constexpr const char* kTagsExtension = "tag-ports-during-bulk-creation";
/// A URL of more than 8 kB is a 414; each id takes 40 bytes of it.
constexpr size_t kMostIds = 150;
constexpr const char* kPageSize = "500";
/// More than a cluster has, and less than fills the memory.
constexpr size_t kMostPorts = 200'000;

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

std::string PollTarget(std::span<const std::string> ids) {
  std::string target = "/ports?status=ACTIVE&fields=id";
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

}  // namespace

struct NeutronClient::Call {
  RequestKind kind;
  std::string what;  ///< HttpRequest::what
  const char* method = "GET";
  std::string target;  ///< below /v2.0
  std::string body;
  std::string if_match;
  RequestGate::Rank rank = RequestGate::Rank::kUsual;
};

/// One place in the gate.
class NeutronClient::Turn {
 public:
  Turn(RequestGate& gate, const std::string& what, RequestGate::Rank rank) : gate_(gate) {
    switch (gate.Enter(rank)) {
      case RequestGate::Turn::kMine:
        return;
      case RequestGate::Turn::kTooLate:
        throw NeutronError(Kind::kUnavailable,
                           what +
                               ": too many requests to Neutron; [neutron] max_requests and "
                               "request_rate limit them",
                           {});
      case RequestGate::Turn::kStopped:
        throw NeutronError(Kind::kUnavailable, what + ": request cancelled", {});
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { gate_.Leave(); }

 private:
  RequestGate& gate_;
};

NeutronClient::NeutronClient(const NeutronConfig& config, RequestObserver* observer)
    : config_(config),
      observer_(observer),
      session_(config, observer),
      gate_({.at_a_time = config.max_requests,
             .a_second = config.request_rate,
             .patience = config.access.timeout}) {}

/// A new catalog may name another URL.
std::shared_ptr<Endpoint> NeutronClient::EndpointAt(const std::string& url) {
  const MutexLock lock(mutex_);
  if (!neutron_ || neutron_->server().url != url) {
    neutron_ = std::make_shared<Endpoint>(
        HttpServer{.name = "Neutron", .url = url, .access = config_.access});
    if (stopped_) neutron_->Stop();
  }
  return neutron_;
}

HttpAnswer NeutronClient::Exchange(const Call& call, const Access& access, HttpRequest& request) {
  request.token = access.token;
  const std::shared_ptr<Endpoint> endpoint = EndpointAt(access.url);
  const Turn turn(gate_, call.what, call.rank);
  const Clock::time_point begin = Clock::now();
  const auto tell = [&](std::optional<Kind> failure) {
    if (observer_ != nullptr) observer_->OnRequest(call.kind, failure, Clock::now() - begin);
  };
  try {
    HttpAnswer answer = endpoint->Send(request);
    const bool succeeded = answer.status / 100 == 2;
    tell(succeeded ? std::nullopt : std::optional(RefusalOf(request, answer).kind()));
    return answer;
  } catch (const NeutronError& e) {
    tell(e.kind());
    throw;
  }
}

/// An answer of a 2xx.
HttpAnswer NeutronClient::Answer(const Call& call) {
  HttpRequest request{.what = call.what,
                      .method = call.method,
                      .target = call.target,
                      .body = call.body,
                      .if_match = call.if_match};
  const Access access = session_.Get();
  HttpAnswer answer = Exchange(call, access, request);
  if (answer.status == 401 && !access.token.empty()) {
    session_.Refuse(access.token);
    answer = Exchange(call, session_.Get(), request);
  }
  if (answer.status / 100 == 2) return answer;
  throw RefusalOf(request, answer);
}

template <typename Decode>
auto NeutronClient::Decoded(const Call& call, Decode decode) {
  const HttpAnswer answer = Answer(call);
  try {
    return decode(answer.body);
  } catch (const ParseError& e) {
    throw NoAnswerOf({.what = call.what, .method = call.method}, answer,
                     std::string(e.what()) + " (" + Printable(answer.content_type) + ")");
  }
}

Network NeutronClient::GetNetwork(const std::string& id) {
  const std::string what = "get network " + Printable(id);
  CheckId(what, id);
  return Decoded({.kind = RequestKind::kNetworkGet, .what = what, .target = "/networks/" + id},
                 DecodeNetwork);
}

Subnet NeutronClient::GetSubnet(const std::string& id) {
  const std::string what = "get subnet " + Printable(id);
  CheckId(what, id);
  return Decoded({.kind = RequestKind::kSubnetGet, .what = what, .target = "/subnets/" + id},
                 DecodeSubnet);
}

std::vector<Subnet> NeutronClient::ListSubnets(const std::string& network_id) {
  const std::string what = "list subnets of network " + Printable(network_id);
  CheckId(what, network_id);
  return Decoded({.kind = RequestKind::kSubnetList,
                  .what = what,
                  .target = "/subnets?network_id=" + network_id},
                 DecodeSubnets);
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
  Port port = Decoded({.kind = RequestKind::kPortCreate,
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
  std::vector<Port> ports = Decoded(call, [&](const std::string& answer) {
    std::vector<Port> made = DecodePorts(answer).ports;
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
  return Decoded({.kind = RequestKind::kPortUpdate,
                  .what = what,
                  .method = "PUT",
                  .target = "/ports/" + id,
                  .body = body.dump(),
                  .if_match = update.revision ? IfMatch(*update.revision) : ""},
                 DecodePort);
}

void NeutronClient::SetTags(const std::string& id, const std::vector<std::string>& tags) {
  const std::string what = "set tags of port " + Printable(id);
  CheckId(what, id);
  (void)Answer({.kind = RequestKind::kPortTags,
                .what = what,
                .method = "PUT",
                .target = "/ports/" + id + "/tags",
                .body = nlohmann::json{{"tags", tags}}.dump()});
}

void NeutronClient::DeletePort(const std::string& id) {
  const std::string what = "delete port " + Printable(id);
  try {
    CheckId(what, id);
    (void)Answer({.kind = RequestKind::kPortDelete,
                  .what = what,
                  .method = "DELETE",
                  .target = "/ports/" + id});
  } catch (const NeutronError& e) {
    if (e.kind() != Kind::kNotFound) throw;
  }
}

Port NeutronClient::GetPort(const std::string& id) {
  const std::string what = "get port " + Printable(id);
  CheckId(what, id);
  return Decoded({.kind = RequestKind::kPortGet, .what = what, .target = "/ports/" + id},
                 DecodePort);
}

/// The next page begins behind the last port of this one. Its link is not followed: behind a proxy
/// it may name a server that is out of reach.
template <typename Target, typename Decode>
auto NeutronClient::AllPages(RequestKind kind, Target target, Decode decode) {
  decltype(decode("").ports) all;
  std::set<std::string> seen;
  for (std::string marker;;) {
    const Call call{.kind = kind, .what = "list ports", .target = target(marker)};
    auto page = Decoded(call, [&](const std::string& body) {
      auto next = decode(body);
      if (next.has_next && (next.ports.empty() || !seen.insert(next.ports.back().id).second))
        throw ParseError("$.ports_links", "names a next page that leads nowhere");
      if (all.size() + next.ports.size() > kMostPorts)
        throw ParseError("$.ports", "more than " + std::to_string(kMostPorts) + " ports in all");
      return next;
    });
    std::move(page.ports.begin(), page.ports.end(), std::back_inserter(all));
    if (!page.has_next) return all;
    marker = all.back().id;
  }
}

std::vector<Port> NeutronClient::ListPorts(const PortFilter& filter) {
  return AllPages(
      RequestKind::kPortList, [&](const std::string& marker) { return ListTarget(filter, marker); },
      DecodePorts);
}

std::vector<NodePort> NeutronClient::ListNodePorts(const NodePortFilter& filter) {
  return AllPages(
      RequestKind::kNodePortList,
      [&](const std::string& marker) { return NodePortTarget(filter, marker); }, DecodeNodePorts);
}

void NeutronClient::AddSubPort(const std::string& trunk_id, const SubPort& sub_port) {
  const std::string what = "add port " + Printable(sub_port.port_id) + " with VLAN " +
                           std::to_string(sub_port.vlan) + " to trunk " + Printable(trunk_id);
  CheckId(what, trunk_id);
  const nlohmann::json body = {{"sub_ports", nlohmann::json::array({EncodeSubPort(sub_port)})}};
  (void)Answer({.kind = RequestKind::kSubPortAdd,
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
    (void)Answer({.kind = RequestKind::kSubPortRemove,
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
  (void)Answer({.kind = RequestKind::kAddressPairs,
                .what = what,
                .method = "PUT",
                .target = "/ports/" + port_id,
                .body = body.dump(),
                .if_match = IfMatch(revision)});
}

std::vector<std::string> NeutronClient::ActivePorts(const std::vector<std::string>& ids) {
  std::vector<std::string> active;
  for (size_t begin = 0; begin < ids.size(); begin += kMostIds) {
    const auto chunk = std::span(ids).subspan(begin, std::min(kMostIds, ids.size() - begin));
    const std::vector<std::string> some =
        Decoded({.kind = RequestKind::kPortPoll,
                 .what = "ask which of " + std::to_string(chunk.size()) + " ports are ACTIVE",
                 .target = PollTarget(chunk)},
                DecodePortIds);
    active.insert(active.end(), some.begin(), some.end());
  }
  return active;
}

/// A project's id is 32 digits, and need not be.
std::optional<PortQuota> NeutronClient::GetPortQuota(const std::string& project_id) {
  const std::string id = project_id.empty() ? session_.Get().project_id : project_id;
  if (id.empty()) return std::nullopt;
  return Decoded({.kind = RequestKind::kQuotaGet,
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
      Decoded({.kind = RequestKind::kExtensions,
               .what = "list Neutron's extensions",
               .target = "/extensions"},
              [](const std::string& body) { return HasExtension(body, kTagsExtension); });
  const MutexLock lock(mutex_);
  tags_at_creation_ = takes;
  return takes;
}

void NeutronClient::Stop() noexcept {
  gate_.Stop();
  session_.Stop();
  const MutexLock lock(mutex_);
  stopped_ = true;
  if (neutron_) neutron_->Stop();
}

}  // namespace kuryr::controller::neutron
