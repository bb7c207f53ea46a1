#pragma once

namespace kuryr::cni {

/// A stage of a call, for measuring its time.
enum class Stage {
  kWaitVif,     ///< for the pod's VIFs to be known
  kPlug,        ///< connecting them; in a standalone network, giving addresses as well
  kWaitActive,  ///< for all of them to be active
  kWaitWiring,  ///< for the switch to be programmed for their ports
  kUnplug,      ///< disconnecting them, by a DEL or by an ADD that failed
};

/// Is told of a call's stages, from several threads, one after the other.
class StageObserver {
 public:
  virtual ~StageObserver() = default;

  /// `stage` begins, and the stage before it ends. The last stage ends with the call.
  virtual void OnStage(Stage /*stage*/) noexcept {}
};

}  // namespace kuryr::cni
