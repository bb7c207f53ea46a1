#pragma once

#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/vifs/node_ports.h"
#include "controller/backends/neutron/vifs/vif_driver.h"

namespace kuryr::controller::neutron {

/// pod_vif_driver = nested-macvlan: nodes are virtual machines, and their ports may send from their
/// pods' addresses. A pod's own port reserves its addresses, and is not bound.
class PairedPorts final : public VifDriver {
 public:
  /// Borrows both.
  PairedPorts(NeutronApi& api, const PodDefaults& defaults)
      : api_(api), defaults_(defaults), nodes_(api, defaults) {}

  void Describe(PortRequest& request, const Owner& owner) const override;
  [[nodiscard]] PortFilter FilterOf(const std::string& owner_id) const override;
  [[nodiscard]] std::string OwnerIdOf(const Port& port) const override;
  /// An active VIF: Neutron has nothing more to do for it.
  vif::Vif Join(const PodNode& node, const Port& port, const PodNetwork& network) override;
  void Delete(const std::string& port_id) override;
  [[nodiscard]] bool Makes(const vif::Vif& vif) const override;

 private:
  using Pairs = std::vector<AddressPair>;
  using Change = std::function<Pairs(const Pairs&)>;

  /// Changes the node's pairs. Its revision shows whether another client changed them meanwhile.
  /// False: the port is gone.
  [[nodiscard]] bool Update(NodePort node, const Change& change);
  /// The node ports with one of the pairs.
  [[nodiscard]] std::vector<NodePort> NodesWith(const std::string& port_id, const Pairs& pairs)
      EXCLUDES(mutex_);

  NeutronApi& api_;
  const PodDefaults& defaults_;
  NodePorts nodes_;
  Mutex mutex_;
  std::unordered_map<std::string, std::string> node_ports_ GUARDED_BY(mutex_);  ///< by pod's port
  std::array<Mutex, 16> updates_;  ///< serializes this process's updates of one node
};

}  // namespace kuryr::controller::neutron
