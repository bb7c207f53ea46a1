#pragma once

#include <optional>
#include <string>

#include "controller/certificates/issuer.h"
#include "controller/cluster/certificate_requests.h"
#include "controller/rounds/round.h"

namespace kuryr::controller {

/// Issues what is due, and answers the requests of nodes: a chassis is one node's, whose
/// kuryr-daemon asks with the token of its own pod. So a node gets no other node's name, and OVN
/// keeps it to its own rows.
class CertificateRound : public Round {
 public:
  CertificateRound(CertificateRequests& requests, const RoundParts& parts)
      : requests_(requests), parts_(parts) {
    if (parts_.needs.certificates)
      issuer_.emplace(parts_.writer, parts_.view, *parts_.needs.certificates);
  }

  void Look(const Key& key) override;

 private:
  void KeepOwn(const Key& key);
  void Answer(const CertificateRequest& request);
  /// Why the request is refused; nullopt: it is granted.
  [[nodiscard]] std::optional<std::string> WhyRefused(const CertificateRequest& request);
  /// The requester's node; empty: it is no kuryr-daemon's pod.
  [[nodiscard]] std::string NodeOf(const CertificateRequest& request);

  CertificateRequests& requests_;
  const RoundParts parts_;
  std::optional<Issuer> issuer_;  ///< it borrows parts_
};

}  // namespace kuryr::controller
