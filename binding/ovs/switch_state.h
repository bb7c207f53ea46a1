#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kuryr::binding {

/// The state of ovs-vswitchd and of some interfaces, as far as a monitor has told it.
class SwitchState {
 public:
  /// <monitor-cond-requests> for the interfaces of these names.
  [[nodiscard]] static nlohmann::json Requests(const std::vector<std::string>& interfaces);

  /// Takes in a <table-updates2> of columns that are of their types (ovsdb::AreUpdates).
  void Apply(const nlohmann::json& updates);

  /// Open_vSwitch.cur_cfg: all that the configuration said up to there is done, or was tried.
  [[nodiscard]] int64_t applied() const noexcept { return applied_; }
  /// The interface's OpenFlow port number; 0 as long as it has none.
  [[nodiscard]] uint32_t NumberOf(const std::string& interface) const;
  /// Interface.error; empty if there is none.
  [[nodiscard]] std::string ErrorOf(const std::string& interface) const;

 private:
  struct Interface {
    std::string name;
    int64_t ofport = 0;
    std::string error;
  };

  [[nodiscard]] const Interface* Find(const std::string& name) const;

  std::map<std::string, Interface> interfaces_;  // by UUID
  int64_t applied_ = 0;
};

}  // namespace kuryr::binding
