#include "cni/agent/pod_registry.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

/// Without what no ADD asks for: a node's pods are to fit into a few MiB.
watcher::WatchEvent Slim(const watcher::WatchEvent& event) {
  const json& metadata = event.object->at("metadata");
  json annotations = json::object();
  const auto found = metadata.find("annotations");
  if (found != metadata.end() && found->is_object()) {
    for (const std::string& key :
         {std::string(vif::kVifAnnotation), std::string("kubernetes.io/config.hash")}) {
      const auto annotation = found->find(key);
      if (annotation != found->end()) annotations[key] = *annotation;
    }
  }
  watcher::WatchEvent slim = event;
  slim.object = std::make_shared<const json>(json{{"kind", "Pod"},
                                                  {"metadata",
                                                   {{"namespace", event.name_space},
                                                    {"name", event.name},
                                                    {"uid", event.uid},
                                                    {"annotations", std::move(annotations)}}}});
  return slim;
}

}  // namespace

void PodRegistry::OnPresent(const watcher::WatchEvent& event) {
  const watcher::WatchEvent slim = Slim(event);
  const MutexLock lock(mutex_);
  pods_[KeyOf(event.name_space, event.name)] = slim;
  Tell(slim);
}

void PodRegistry::OnDeleted(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  pods_.erase(KeyOf(event.name_space, event.name));
  Tell(event);
}

void PodRegistry::OnWatchFailure(const std::exception_ptr& failure) {
  const MutexLock lock(mutex_);
  for (const auto& [key, subscription] : subscriptions_) subscription->on_failure_(failure);
}

std::vector<watcher::WatchEvent> PodRegistry::pods() const {
  const MutexLock lock(mutex_);
  std::vector<watcher::WatchEvent> pods;
  pods.reserve(pods_.size());
  for (const auto& [key, pod] : pods_) pods.push_back(pod);
  return pods;
}

void PodRegistry::Tell(const watcher::WatchEvent& event) {
  const auto [begin, end] = subscriptions_.equal_range(KeyOf(event.name_space, event.name));
  for (auto entry = begin; entry != end; ++entry) entry->second->listener_(event);
}

void PodRegistry::Subscribe(Subscription& subscription) {
  const MutexLock lock(mutex_);
  subscriptions_.emplace(subscription.key_, &subscription);
  const auto known = pods_.find(subscription.key_);
  if (known != pods_.end()) subscription.listener_(known->second);
}

void PodRegistry::Unsubscribe(Subscription& subscription) {
  const MutexLock lock(mutex_);
  const auto [begin, end] = subscriptions_.equal_range(subscription.key_);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second != &subscription) continue;
    subscriptions_.erase(entry);
    return;
  }
}

}  // namespace kuryr::cni
