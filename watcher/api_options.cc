#include "watcher/api_options.h"

#include <unistd.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "watcher/api_root.h"
#include "watcher/api_source.h"
#include "watcher/kubeconfig.h"

namespace kuryr::watcher {
namespace {

constexpr const char* kKubernetes = "kubernetes";
constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

/// Kuryr's order: K8S_API, the cluster's own service.
Option EnvironmentsApiRoot(const GetEnv& getenv) {
  Option root = Variable(getenv, "K8S_API");
  if (root.set()) return root;
  const Option host = Variable(getenv, "KUBERNETES_SERVICE_HOST");
  Option port = Variable(getenv, "KUBERNETES_SERVICE_PORT_HTTPS");
  if (!port.set()) port = Variable(getenv, "KUBERNETES_SERVICE_PORT");
  if (!host.set() || !port.set()) return {};
  const bool ipv6 = host.value->find(':') != std::string::npos;
  return {host.where,
          "https://" + (ipv6 ? "[" + *host.value + "]" : *host.value) + ":" + *port.value};
}

/// Takes a PEM's file, in place of a kubeconfig's file or value.
void TakePem(const Option& option, Secret& target) {
  if (!option.set()) return;
  Secret file;
  TakeFile(option, file.file);
  target = file;
}

/// Takes the service account that a pod has mounted, for options that no file sets.
void TakeServiceAccount(const ConfigFiles& files, ApiConfig& api) {
  const auto take = [&](const char* option, const char* name, Secret& target) {
    const std::string file = std::string(kServiceAccount) + name;
    if (!files.Find(kKubernetes, option).value && ::access(file.c_str(), R_OK) == 0)
      target = {.file = file};
  };
  take("ssl_ca_crt_file", "ca.crt", api.ca);
  if (!files.Find(kKubernetes, "ssl_client_crt_file").set()) take("token_file", "token", api.token);
}

/// The API server's address, by kuryr.conf and the environment.
struct Places {
  Option root;
  Option kubeconfig;
  bool is_of_user = false;  ///< the kubeconfig's identity counts, whatever kuryr.conf has
};

Places FindPlaces(const ConfigFiles& files, const GetEnv& getenv) {
  const Option asked = Variable(getenv, kKubeconfigOption);
  if (asked.set()) return {.root = {}, .kubeconfig = asked, .is_of_user = true};
  Places places{.root = files.Find(kKubernetes, "api_root"),
                .kubeconfig = files.Find(kKubernetes, "kubeconfig")};
  if (places.root.set() || places.kubeconfig.set()) return places;
  places.root = EnvironmentsApiRoot(getenv);
  if (!places.root.set()) places.kubeconfig = Variable(getenv, "KUBECONFIG");
  return places;
}

/// Reads a kubeconfig. An identity in kuryr.conf replaces the kubeconfig's whole user.
ApiConfig ReadKubeconfig(const Places& places, const ConfigFiles& files) {
  const bool has_identity =
      !places.is_of_user && (files.Find(kKubernetes, "token_file").set() ||
                             files.Find(kKubernetes, "ssl_client_crt_file").set());
  try {
    return has_identity ? LoadKubeconfigCluster(*places.kubeconfig.value)
                        : LoadKubeconfig(*places.kubeconfig.value);
  } catch (const ParseError& e) {
    Refuse(places.kubeconfig.where, e.what());
  }
}

/// Takes the server, and the identity that comes from elsewhere than kuryr.conf.
void TakeServer(const ConfigFiles& files, const Places& places, ApiOptions& options) {
  if (places.kubeconfig.set()) {
    options.api = ReadKubeconfig(places, files);
    if (!options.api.verify_server)
      options.unverified_by = places.kubeconfig.where + " " + *places.kubeconfig.value;
  } else {
    TakeServiceAccount(files, options.api);
  }
  if (!places.root.set()) return;
  options.api.api_root = *places.root.value;
  try {
    (void)ApiRoot::Parse(options.api.api_root);
  } catch (const ParseError& e) {
    Refuse(places.root.where, e.reason());
  }
}

void TakeIdentity(const ConfigFiles& files, ApiOptions& options) {
  ApiConfig& api = options.api;
  TakePem(files.Find(kKubernetes, "token_file"), api.token);
  TakePem(files.Find(kKubernetes, "ssl_ca_crt_file"), api.ca);
  TakePem(files.Find(kKubernetes, "ssl_client_crt_file"), api.client_cert);
  TakePem(files.Find(kKubernetes, "ssl_client_key_file"), api.client_key);
  // As in Kuryr; a kubeconfig's user may have both.
  if (files.Find(kKubernetes, "token_file").set()) api.client_cert = api.client_key = {};
  const Option verify = files.Find(kKubernetes, "ssl_verify_server_crt");
  Take(verify, api.verify_server);
  if (verify.value) options.unverified_by = api.verify_server ? "" : verify.where;
}

ApiOptions ReadAt(const ConfigFiles& files, const Places& places) {
  ApiOptions options;
  TakeServer(files, places, options);
  if (!places.is_of_user) TakeIdentity(files, options);
  ApiConfig& api = options.api;
  Take(files.Find(kKubernetes, "watch_retry_timeout"), api.retry_timeout, 3600);
  Take(files.Find(kKubernetes, "watch_connection_timeout"), api.connect_timeout, 3600);
  Take(files.Find(kKubernetes, "watch_read_timeout"), api.read_timeout, 3600);
  return options;
}

}  // namespace

ApiOptions ReadApiOptions(const ConfigFiles& files, const GetEnv& getenv) {
  const Places places = FindPlaces(files, getenv);
  ApiOptions options = ReadAt(files, places);
  if (places.kubeconfig.set()) {
    options.api.source = std::make_shared<ApiSource>(
        *places.kubeconfig.value, [files, places] { return ReadAt(files, places).api; });
  }
  return options;
}

}  // namespace kuryr::watcher
