#include "cni/commands/gc.h"

#include <exception>
#include <set>

#include "base/log.h"
#include "cni/commands/unplug.h"
#include "cni/failure.h"
#include "cni/ovs_cni/cache.h"
#include "cni/protocol/error.h"
#include "cni/standalone/delegate.h"

namespace kuryr::cni {
namespace {

/// Collects failures, so that one does not stop the rest.
class Failures {
 public:
  template <typename Act>
  void Try(const AttachmentKey& key, const Act& act) {
    try {
      act();
    } catch (...) {
      const CniError error = AsCniError(std::current_exception());
      text_ += (text_.empty() ? "" : "; ") + ("container " + key.container_id) + ", interface " +
               key.ifname + ": " + error.what();
    }
  }
  void ThrowIfAny() const {
    if (!text_.empty())
      throw CniError(ErrorCode::kIoFailure, "GC could not remove all attachments", text_);
  }

 private:
  std::string text_;
};

class Collector {
 public:
  explicit Collector(const Call& call)
      : request_(call.request),
        node_(call.node),
        deadline_(call.deadline),
        ovs_cni_cache_(call.config.ovs_cni_cache_dir),
        valid_(request_.config.valid_attachments->begin(),
               request_.config.valid_attachments->end()) {}

  void CollectRecords() {
    for (const AttachmentKey& key : node_.attachments.List(request_.config.name)) {
      if (!IsValid(key)) failures_.Try(key, [&] { Collect(key); });
    }
  }

  /// Runs after the records were collected: a plug that still has a record is in use.
  void CollectUnrecorded() {
    for (const auto& [attachment, plug] :
         node_.binding.FindPlugsOf(request_.config.name, deadline_)) {
      AttachmentRecord record;
      record.key = {attachment.network, attachment.container_id, attachment.ifname};
      record.plugs = {plug};
      if (IsValid(record.key) || node_.attachments.Find(record.key)) continue;
      Tell(record.key);
      failures_.Try(record.key, [&] { Unplug(record, request_, node_, deadline_); });
    }
  }

  void Finish() const { failures_.ThrowIfAny(); }

 private:
  [[nodiscard]] bool IsValid(const AttachmentKey& key) const {
    return valid_.count({key.container_id, key.ifname}) != 0;
  }
  static void Tell(const AttachmentKey& key) {
    Log(LogLevel::kInfo, "collecting an attachment that is not valid any more",
        {{"network", key.network}, {"container", key.container_id}, {"ifname", key.ifname}});
  }
  void Collect(const AttachmentKey& key) {
    auto attachment = node_.attachments.TryTake(key);
    if (!attachment) return;
    Tell(key);
    if (attachment->record()) Unplug(*attachment->record(), request_, node_, deadline_);
    attachment->Remove();
    if (request_.config.is_ovs_cni) ovs_cni_cache_.Remove(key.container_id, key.ifname);
  }

  const Request& request_;
  const NodeContext& node_;
  const Deadline deadline_;
  const OvsCniCache ovs_cni_cache_;
  const std::set<ValidAttachment> valid_;
  Failures failures_;
};

}  // namespace

std::string Gc(const Call& call) {
  const Request& request = call.request;
  Collector collector(call);
  collector.CollectRecords();
  collector.CollectUnrecorded();
  if (!request.config.ipam.empty()) Delegate(request, request.config.json).Gc(call.deadline);
  collector.Finish();
  return {};
}

}  // namespace kuryr::cni
