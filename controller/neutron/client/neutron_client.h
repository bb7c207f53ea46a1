#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/neutron/client/endpoint.h"
#include "controller/neutron/client/neutron_config.h"
#include "controller/neutron/client/request_gate.h"
#include "controller/neutron/client/request_observer.h"
#include "controller/neutron/client/session.h"
#include "controller/neutron/neutron_api.h"

namespace kuryr::controller::neutron {

/// Neutron over HTTP, with a token of Keystone's. A request waits for its turn, as [neutron]
/// max_requests and request_rate say, and then takes [neutron] timeout at most; one that Neutron
/// refuses with a 401 is made once more with a new token. Thread-safe. Programs that use it ignore
/// SIGPIPE.
class NeutronClient final : public NeutronApi {
 public:
  /// `observer`, which may be null, outlives it.
  NeutronClient(const NeutronConfig& config, RequestObserver* observer);

  [[nodiscard]] Network GetNetwork(const std::string& id) override;
  [[nodiscard]] Subnet GetSubnet(const std::string& id) override;
  [[nodiscard]] std::vector<Subnet> ListSubnets(const std::string& network_id) override;
  Port CreatePort(const PortRequest& request) override;
  std::vector<Port> CreatePorts(const std::vector<PortRequest>& requests) override;
  Port BindPort(const std::string& id, const std::string& host_id) override;
  Port UpdatePort(const std::string& id, const PortUpdate& update) override;
  void SetTags(const std::string& id, const std::vector<std::string>& tags) override;
  void DeletePort(const std::string& id) override;
  [[nodiscard]] Port GetPort(const std::string& id) override;
  [[nodiscard]] std::vector<Port> ListPorts(const PortFilter& filter) override;
  [[nodiscard]] std::vector<std::string> ActivePorts(const std::vector<std::string>& ids) override;
  [[nodiscard]] std::vector<NodePort> ListNodePorts(const NodePortFilter& filter) override;
  void AddSubPort(const std::string& trunk_id, const SubPort& sub_port) override;
  void RemoveSubPort(const std::string& trunk_id, const std::string& port_id) override;
  void SetAddressPairs(const std::string& port_id, const std::vector<AddressPair>& pairs,
                       int64_t revision) override;
  [[nodiscard]] std::optional<PortQuota> GetPortQuota(const std::string& project_id) override;
  [[nodiscard]] bool TagsAtCreation() override EXCLUDES(mutex_);

  /// For good: calls under way end at once with kUnavailable, as does every later one.
  void Stop() noexcept EXCLUDES(mutex_);

 private:
  struct Call;  ///< one request
  class Turn;

  [[nodiscard]] HttpAnswer Answer(const Call& call);
  [[nodiscard]] HttpAnswer Exchange(const Call& call, const Access& access, HttpRequest& request);
  template <typename Decode>
  [[nodiscard]] auto Decoded(const Call& call, Decode decode);
  /// `target` makes the target of a page behind a marker.
  template <typename Target, typename Decode>
  [[nodiscard]] auto AllPages(RequestKind kind, Target target, Decode decode);
  [[nodiscard]] std::shared_ptr<Endpoint> EndpointAt(const std::string& url) EXCLUDES(mutex_);
  [[nodiscard]] nlohmann::json BodyOf(const PortRequest& request);
  void AddTags(Port& port, const PortRequest& request);

  const NeutronConfig config_;
  RequestObserver* const observer_;
  Session session_;
  RequestGate gate_;
  Mutex mutex_;
  std::shared_ptr<Endpoint> neutron_ GUARDED_BY(mutex_);
  std::optional<bool> tags_at_creation_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace kuryr::controller::neutron
