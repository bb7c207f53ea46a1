#include "controller/backends/neutron/neutron_factory.h"

#include <utility>

#include "base/log.h"
#include "controller/backends/neutron/client/neutron_client.h"
#include "controller/backends/neutron/neutron_backend.h"

namespace kuryr::controller::neutron {
namespace {

/// A backend with the client that it borrows. The next leader finds the requests that its end cuts
/// off.
struct ConnectedBackend {
  ConnectedBackend(const NeutronConfig& config, std::shared_ptr<RequestMetrics> counts,
                   const PodDefaults& pods, const BackendHooks& hooks)
      : requests(std::move(counts)),
        client(config, requests.get()),
        backend({.api = client, .defaults = pods, .hooks = hooks, .workers = config.max_requests}) {
  }
  ConnectedBackend(const ConnectedBackend&) = delete;
  ConnectedBackend& operator=(const ConnectedBackend&) = delete;
  ~ConnectedBackend() { client.Stop(); }

  const std::shared_ptr<RequestMetrics> requests;
  NeutronClient client;
  NeutronBackend backend;
};

}  // namespace

NeutronFactory::NeutronFactory(NeutronConfig client, PodDefaults pods)
    : client_(std::move(client)),
      pods_(std::move(pods)),
      requests_(std::make_shared<RequestMetrics>()) {}

BackendNeeds NeutronFactory::needs() const {
  return {.node_addresses = pods_.is_nested(),
          .scopes = pods_.asks_for_scopes(),
          .policies = pods_.enforces_policies,
          .multi_policies = pods_.enforces_policies};
}

void NeutronFactory::Warn() const {
  WarnOfInsecureNeutron(client_);
  if (pods_.enforces_policies)
    Log(LogLevel::kWarning,
        "NetworkPolicies do not hold for what kube-proxy brings by a Service: it has a node's "
        "address");
}

std::shared_ptr<Backend> NeutronFactory::Make(const BackendHooks& hooks) const {
  const auto connected = std::make_shared<ConnectedBackend>(client_, requests_, pods_, hooks);
  return {connected, &connected->backend};
}

std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files, const GetEnv& getenv) {
  return std::make_shared<NeutronFactory>(ReadNeutronConfig(files, getenv), ReadPodDefaults(files));
}

}  // namespace kuryr::controller::neutron
