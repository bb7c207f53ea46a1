#pragma once

#include <functional>
#include <string>
#include <thread>

namespace kuryr::cni {

/// Calls `wake` by events of what the node's own network consists of: the link and the port of this
/// name, addresses, routes, and the rules in nftables. Each source has a thread.
class NodeEvents {
 public:
  /// `remote` is that of Open vSwitch's database. `wake` is called from any of the threads.
  NodeEvents(const std::string& interface, const std::string& remote,
             const std::function<void()>& wake);

 private:
  std::jthread links_;
  std::jthread ports_;
  std::jthread layer3_;
  std::jthread rules_;
};

}  // namespace kuryr::cni
