#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/ovn/policy_rows.h"
#include "policy/policy_verdicts.h"

namespace kuryr::controller::ovn {

/// Decides on packets as OVN's ACLs say (ovn-nb(5), ACL): the one of the highest priority that
/// matches decides, and without one a packet passes. It reads the matches that PolicyRows writes.
/// Each pod has one IPv4 address.
class AclJudge {
 public:
  void Apply(const PolicyRows::Changes& changes);
  void SetPod(const std::string& uid, const std::string& address) { addresses_[uid] = address; }
  void SetSets(const std::string& uid, const std::set<policy::PodSet>& sets) { sets_[uid] = sets; }

  [[nodiscard]] bool MaySend(const policy::Traffic& traffic) const;
  [[nodiscard]] bool MayReceive(const policy::Traffic& traffic) const;
  /// The rows that are there.
  [[nodiscard]] const std::map<RowKey, WantedRow>& rows() const noexcept { return rows_; }

 private:
  struct Packet {
    const policy::Traffic& traffic;
    std::string port;          ///< "inport" or "outport", which is the subject's
    std::set<std::string> in;  ///< the subject's port groups
  };
  [[nodiscard]] bool Judge(const char* direction, const Packet& packet) const;
  [[nodiscard]] bool Matches(const std::string& match, const Packet& packet) const;
  [[nodiscard]] bool IsTrue(const std::string& term, const Packet& packet) const;
  [[nodiscard]] bool Has(const std::string& item, const IpAddress& address) const;
  [[nodiscard]] std::set<std::string> GroupsOf(const std::string& uid) const;

  std::map<RowKey, WantedRow> rows_;
  std::map<std::string, std::string> addresses_;
  std::map<std::string, std::set<policy::PodSet>> sets_;
};

}  // namespace kuryr::controller::ovn
