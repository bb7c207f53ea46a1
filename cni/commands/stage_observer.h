#pragma once

namespace kuryr::cni {

/// What takes a call's time.
enum class Stage {
  kWaitVif,     ///< for the pod's VIFs to be known
  kPlug,        ///< connecting them; in a network of this node's own, addresses too
  kWaitActive,  ///< for all of them to be active
  kWaitWiring,  ///< for who programs the switch to have connected their ports
  kUnplug,      ///< disconnecting them: a DEL's work, or what an ADD undoes
};

/// Hears how a call gets on. Calls come from several threads, one after the other.
class StageObserver {
 public:
  virtual ~StageObserver() = default;

  /// The stage before ends, and this one begins; the last one ends with the call.
  virtual void OnStage(Stage /*stage*/) noexcept {}
};

}  // namespace kuryr::cni
