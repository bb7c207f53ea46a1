#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "certificates/certificate.h"
#include "controller/backends/backend_factory.h"
#include "controller/cluster/cluster_view.h"
#include "controller/owners/writer.h"

namespace kuryr::controller {

/// Issues the keys of OVN's programs. All that it knows is in objects of the API server, which
/// etc/kubernetes/base/ovn has empty: Secret ovn-tls-authority with the keys of two authorities,
/// Secret ovn-tls-central for the databases and ovn-northd, ConfigMap ovn-authority with the
/// certificates that others trust, and ConfigMap ovn-chassis with the node of each chassis. Throws
/// what ApiClient does, NotLeading and CertificateError. Not thread-safe.
class Issuer {
 public:
  using Time = certificates::CertificateFacts::Time;

  /// Everything is borrowed.
  Issuer(Writer& writer, ClusterView& view, const IssuedCertificates& wanted)
      : writer_(writer), view_(view), wanted_(wanted) {}

  /// Makes the keys that are missing, or due: the authorities', those of the databases, and this
  /// process's own files. Returns when the next one is due.
  Time Keep();

  /// The certificate that a node's request asks for.
  [[nodiscard]] std::string SignForNode(const std::string& request);

  /// From now on the chassis is this node's alone, while the cluster has the Node, and the node has
  /// no other one. False where it is another node's.
  [[nodiscard]] bool Bind(const std::string& chassis, const std::string& node);

 private:
  struct Authorities {
    certificates::Identity central;
    certificates::Identity nodes;
  };

  [[nodiscard]] std::string PathOf(const char* resource, const char* name) const;
  /// Makes those that are missing, or due.
  Authorities KeepAuthorities();
  Time KeepCentral(const Authorities& authorities);
  void Publish(const Authorities& authorities);
  Time KeepOwn(const Authorities& authorities);
  /// Merges into the object's member "data", unless it has changed meanwhile (409).
  void Store(const std::string& path, const nlohmann::json& object, const nlohmann::json& data);

  Writer& writer_;
  ClusterView& view_;
  const IssuedCertificates& wanted_;
};

}  // namespace kuryr::controller
