#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/backends/neutron/held/held_port.h"
#include "controller/plan/plan_request.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller::neutron {

/// The ports of each owner. A port has one owner. Not thread-safe.
class PortLedger {
 public:
  struct Account {
    /// nullptr: the owner does not have the port.
    [[nodiscard]] const HeldPort* Find(const std::string& port_id) const;

    Owner owner;
    std::vector<HeldPort> ports;
    std::vector<HeldPort> removed;  ///< of interfaces that the owner no longer has; still its own
    bool must_search = false;       ///< as PortWork's
    bool uncertain = false;         ///< as PortWork's, of any plan since the last that succeeded
    std::set<std::string> lost;     ///< ids of ports lost before their plan was active
  };
  enum class Taken {
    kYes,
    kInstead,   ///< in place of a port that was made for the interface and never written
    kAnothers,  ///< not taken: another owner has the port
  };

  /// An account without ports.
  void Open(const Owner& owner, bool must_search);
  void Close(const std::string& owner_id);
  [[nodiscard]] Account& At(const std::string& owner_id) { return accounts_.at(owner_id); }
  /// nullptr: the owner has no account.
  [[nodiscard]] const Account* Find(const std::string& owner_id) const;
  /// nullptr: no owner has the port.
  [[nodiscard]] const Account* FindOwnerOf(const std::string& port_id) const;

  /// One for each interface, the default one first; nullopt while a port or its VIF is missing.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> VifsFor(
      const std::string& owner_id, const std::vector<InterfaceRequest>& interfaces) const;
  /// The owner's object names the port. A lost port that its reader has not replaced yet is
  /// ignored. A plan that is active takes the port from another that only told of it.
  Taken Take(Account& account, const vif::PodVif& vif);
  /// The account has the ports that a task left, and keeps ports that were taken meanwhile. False:
  /// two ports are for one interface, and one of them was left out.
  bool Merge(Account& account, const std::vector<HeldPort>& ports);
  /// The owner now has only the interfaces of these VIFs. Returns the ids of ports that are removed
  /// by this.
  std::vector<std::string> Keep(Account& account, const std::vector<vif::PodVif>& vifs);
  /// A task has freed these removed ports.
  void Forget(Account& account, const std::vector<std::string>& freed);
  /// Returns the owners that have only active ports now.
  [[nodiscard]] std::vector<Owner> MarkActive(const std::vector<std::string>& port_ids);
  /// Neutron's list has the port so. A port that was seen later stays as it is.
  void Note(const std::string& port_id, const SeenPort& seen);
  /// The ports of all owners' interfaces.
  [[nodiscard]] std::vector<std::pair<const Owner*, const HeldPort*>> Ports() const;
  /// Returns the port's owner by id; nullopt: no owner has the port.
  std::optional<std::string> Doubt(const std::string& port_id);
  /// A task has verified the doubted ports. A pod's port that is gone stays where its plan is
  /// active, as the pod may run. Others are lost, and a plan lacks them. Returns those gone, by id.
  std::vector<std::string> Settle(Account& account, const std::vector<HeldPort>& verified);

  /// Takes the port from the account, unless the owner is a pod and its plan is active.
  void Lose(Account& account, const std::string& port_id);

  /// Ports that stand on objects of owners that pass, by id.
  [[nodiscard]] std::vector<std::string> Written(
      const std::function<bool(const std::string& owner_id)>& passes) const;
  /// The number of ports that are gone while their plan is active.
  [[nodiscard]] size_t gone() const;

 private:
  /// Keeps the port where it is another owner's.
  void Disown(const Account& account, const std::string& port_id);
  /// False: another owner has the port. For a plan that is active, an owner that only told of the
  /// port loses it.
  [[nodiscard]] bool Claim(const Account& account, const std::string& port_id, bool is_active);

  std::unordered_map<std::string, Account> accounts_;    ///< by the owner's id
  std::unordered_map<std::string, std::string> owners_;  ///< by the port's id
};

}  // namespace kuryr::controller::neutron
