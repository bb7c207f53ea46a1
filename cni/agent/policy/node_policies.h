#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/thread_annotations.h"
#include "binding/node/pod_filter.h"
#include "cni/agent/policy/closed_addresses.h"
#include "cni/agent/policy/filter_maker.h"
#include "cni/agent/policy/pod_addresses.h"
#include "cni/agent/policy/set_addresses.h"
#include "cni/attachments/attachment_store.h"
#include "cni/config.h"
#include "cni/protocol/agent_call.h"
#include "policy/policy_compiler.h"
#include "policy/policy_verdicts.h"
#include "service/metrics_text.h"
#include "watcher/event_pipeline.h"
#include "watcher/failure_log.h"
#include "watcher/watcher.h"

namespace kuryr::cni {

/// Enforces NetworkPolicies and admins' policies on pods for which the node forwards: each one's
/// packets pass the node's kernel, since its link has only its own address. Watches policies from
/// the first such pod on, the cluster's pods and namespaces from the first policy on, and nodes
/// from the first policy on that names some. A thread keeps the kernel's filter; it stays when the
/// process ends. Thread-safe but for Start and Stop.
class NodePolicies : public watcher::EventConsumer {
 public:
  /// Everything is borrowed.
  NodePolicies(const Config& config, const AttachmentStore& attachments);
  NodePolicies(const NodePolicies&) = delete;
  NodePolicies& operator=(const NodePolicies&) = delete;
  ~NodePolicies() override { Stop(); }

  /// Knows the pods of the records. Where [node_network] policies is off, removes the filter.
  void Start();
  void Stop();

  /// Returns when the packets of the attachment's pod meet its policies. Throws CniError 11 at the
  /// deadline, and when the kernel refuses the filter.
  void Admit(const AttachmentRecord& record, const Deadline& deadline) EXCLUDES(mutex_);
  /// The attachment is unplugged.
  void Forget(const AttachmentKey& key) EXCLUDES(mutex_);

  /// What the node has for a pod, NAMESPACE/NAME, for people. Status 1 where it is not in effect,
  /// or where the node does not forward for such a pod.
  [[nodiscard]] AgentReply Describe(const std::string& pod) const EXCLUDES(mutex_);

  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

  void WriteTo(service::MetricsText& text) const EXCLUDES(mutex_);
  /// As Watcher::Metrics.
  [[nodiscard]] std::map<std::string, watcher::WatchMetrics> WatchMetrics() const;

 private:
  /// What is watched. Until all of that is listed, no filter would be right.
  enum class Watched { kNothing, kPolicies, kPods, kNodes };

  [[nodiscard]] bool IsWanted() const noexcept;
  void Learn(const AttachmentRecord& record) REQUIRES(mutex_);
  /// Returns when the kernel has the policies of the record's pod: whether some name it.
  bool AwaitEffect(const AttachmentRecord& record, const Deadline& deadline) EXCLUDES(mutex_);
  /// Whether policies select the record's pod, or name it as a peer.
  [[nodiscard]] bool IsNamed(const AttachmentRecord& record) const REQUIRES(mutex_);
  /// `uid`: at the API server.
  [[nodiscard]] bool IsNamed(const std::string& uid) const REQUIRES(mutex_);
  /// Whether the record's pod needs no change of the kernel: no policy names it, and the kernel's
  /// filter, before and after the change at work, has nothing for its addresses.
  [[nodiscard]] bool IsFree(const AttachmentRecord& record) const REQUIRES(mutex_);
  /// Whether the kernel's filter has to change.
  [[nodiscard]] bool Take(const PodAddresses::Uids& changed) REQUIRES(mutex_);
  void Watch(Watched what) REQUIRES(mutex_);
  void WatchWhatPoliciesName() REQUIRES(mutex_);
  void OnListed(Watched what) EXCLUDES(mutex_);
  void OnFailure(const std::exception_ptr& failure) EXCLUDES(mutex_);
  [[nodiscard]] bool IsComplete() const REQUIRES(mutex_);
  void Wake() REQUIRES(mutex_);
  void Run(const std::stop_token& stop) EXCLUDES(mutex_);
  void Apply() EXCLUDES(mutex_);
  void FollowKernel(const std::stop_token& stop);

  const Config& config_;
  const AttachmentStore& attachments_;
  const watcher::FailureHandler log_failure_;
  watcher::EventPipeline pipeline_;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  Watched watched_ GUARDED_BY(mutex_) = Watched::kNothing;
  Watched listed_ GUARDED_BY(mutex_) = Watched::kNothing;
  policy::PolicyCompiler compiler_ GUARDED_BY(mutex_);
  policy::PolicyVerdicts policies_ GUARDED_BY(mutex_);
  FilterMaker filters_ GUARDED_BY(mutex_);
  SetAddresses sets_ GUARDED_BY(mutex_);
  PodAddresses addresses_ GUARDED_BY(mutex_);
  ClosedAddresses closed_ GUARDED_BY(mutex_);
  bool is_distrusted_ GUARDED_BY(mutex_) = false;     ///< the kernel's table may have changed
  uint64_t wanted_ GUARDED_BY(mutex_) = 0;            ///< changes of the filter so far
  uint64_t applied_ GUARDED_BY(mutex_) = 0;           ///< that the kernel has
  std::set<IpAddress> in_kernel_ GUARDED_BY(mutex_);  ///< at most these have chains there
  std::string failure_ GUARDED_BY(mutex_);            ///< of the last try; empty: none
  std::string watch_failure_ GUARDED_BY(mutex_);  ///< since the last list or change; empty: none
  uint64_t failures_ GUARDED_BY(mutex_) = 0;

  binding::PodFilter filter_;  ///< the thread has it alone, but for its port
  std::optional<watcher::Watcher> watcher_;
  std::jthread kernel_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kuryr::cni
