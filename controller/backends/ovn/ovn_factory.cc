#include "controller/backends/ovn/ovn_factory.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/ovsdb_remotes.h"
#include "controller/backends/ovn/ovn_backend.h"
#include "controller/backends/ovn/ovn_options.h"
#include "controller/backends/pools/pool_factory.h"
#include "ovsdb/client.h"

namespace kuryr::controller::ovn {
namespace {

class OvnFactory final : public BackendFactory {
 public:
  explicit OvnFactory(OvnOptions options) : options_(std::move(options)), pools_(options_.pools) {}

  [[nodiscard]] const char* name() const noexcept override { return kBackendName; }
  [[nodiscard]] BackendNeeds needs() const override {
    BackendNeeds needs = pools_.needs();
    needs.services = options_.balances_services;
    needs.policies = true;
    needs.admin_policies = true;
    needs.multi_policies = true;
    if (options_.issues_certificates)
      needs.certificates = {.name_space = options_.certificate_namespace,
                            .lifetime = options_.certificate_lifetime,
                            .folder = options_.certificate_folder};
    return needs;
  }
  void Warn() const override {
    pools_.Warn();
    for (const std::string& connection : {options_.nb_connection, options_.sb_connection}) {
      for (const std::string& remote : FindUnprotected(connection))
        Log(LogLevel::kWarning,
            "whoever reaches this server of OVN may rule the network, as pods can: use ssl:",
            {{"remote", remote}});
    }
    if (!options_.balances_services)
      Log(LogLevel::kWarning,
          "NetworkPolicies do not hold for what comes by a Service: it has a node's address; "
          "[ovn] services = ovn would keep the source");
    const bool shares = std::any_of(options_.pools.begin(), options_.pools.end(),
                                    [](const pools::Pool& pool) { return !pool.from_node; });
    if (options_.balances_services && shares)
      Log(LogLevel::kWarning,
          "internalTrafficPolicy: Local does not hold for pods of pools without from_node and "
          "node_prefix: nodes share their switch");
  }

  [[nodiscard]] std::shared_ptr<Backend> Make(const BackendHooks& hooks) const override {
    if (!options_.nb_private_key.empty())
      OvsdbClient::UseTls(options_.nb_private_key, options_.nb_certificate, options_.nb_ca_cert);
    return std::make_shared<OvnBackend>(options_, hooks);
  }

 private:
  const OvnOptions options_;
  const pools::PoolFactory pools_;
};

}  // namespace

std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files,
                                                  const GetEnv& /*getenv*/) {
  return std::make_shared<OvnFactory>(ReadOvnOptions(files));
}

}  // namespace kuryr::controller::ovn
