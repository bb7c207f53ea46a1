#include "controller/commands/orphans_command.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "controller/commands/leader.h"
#include "controller/commands/pod_words.h"
#include "controller/commands/survey.h"
#include "controller/owners/vif_sink.h"
#include "controller/owners/writer.h"
#include "service/command_line.h"
#include "service/table.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr size_t kMostLine = 600;

/// Why no controller will take the pod's finalizer away; empty if one will.
std::string WhyLeft(const Survey::Pod& pod, Survey& survey, bool nobody_leads) {
  const PodFacts& facts = *pod.known.pod;
  if (!facts.has_finalizer) return "";
  const Act act = DecideListed(pod, survey).act;
  if (act == Act::kRelease ? !nobody_leads : act != Act::kAwaitEnd) return "";
  if (AwaitedBy(facts) == Awaited::kNothing) return "the pod is done";
  return facts.deleted && survey.IsNodeGone(facts.node) ? "node " + facts.node + " is gone" : "";
}

bool IsPodGone(Survey& survey, const std::string& path, const PortFacts& port) {
  try {
    return StringAt(survey.client().Get(path).at("metadata"), "uid") != port.pod_uid;
  } catch (const watcher::ApiError& e) {
    if (e.code() == watcher::ApiError::kNotFound) return true;
    throw;
  }
}

/// Reports each orphan, and removes it if asked.
class Removal {
 public:
  Removal(Survey& survey, const OrphanOrder& order)
      : survey_(survey),
        order_(order),
        store_(KindParts()),
        writer_(survey.client(), store_, [] { return true; }) {}

  [[nodiscard]] size_t left() const noexcept { return left_; }
  [[nodiscard]] size_t removed() const noexcept { return removed_; }
  [[nodiscard]] const json& reported() const noexcept { return reported_; }

  void Finalizer(const Survey::Pod& pod, const std::string& why) {
    Take("finalizer of pod " + KeyOf(pod.event.name_space, pod.event.name), why,
         [&] { ClearPlan(pod.known, writer_); });
  }

  void Held(const Owner& owner) {
    const std::string kind = owner.is_node() ? "node" : "pod";
    const std::string name = owner.is_node() ? owner.name : KeyOf(owner);
    Take("what " + kind + " " + name + " (" + owner.id + ") has in the backend",
         "the " + kind + " is gone", [&] { survey_.command_backend().ReleaseNow(owner.id); });
  }

  void Unmarked(PortLister& lister, const ListedPort& port) {
    Take("port " + port.id + " (" + port.name + ") at " + port.place,
         "an earlier release made it for a pool, and it lacks this cluster's tags",
         [&] { lister.RemoveUnmarked(port.id); });
  }

  void Port(const std::string& key, const PortFacts& port) {
    const PodKey name(key);
    if (!IsPodGone(survey_, PodPath(name.name_space, name.name), port)) return;
    Take("KuryrPort " + key, "its pod is gone",
         [&] { writer_.DeletePort(name.name_space, name.name, port.uid); });
  }

 private:
  template <typename Remove>
  void Take(const std::string& what, const std::string& why, const Remove& remove) {
    json orphan = {{"what", Printable(what, kMostLine)}, {"why", Printable(why, kMostLine)}};
    if (order_.act == OrphanAct::kList) {
      ++left_;
      return Report("", std::move(orphan));
    }
    try {
      remove();
      ++removed_;
      Report("removed", std::move(orphan));
    } catch (const std::exception& e) {
      ++left_;
      orphan["error"] = Printable(e.what(), kMostLine);
      Report("failed", std::move(orphan));
    }
  }

  void Report(const std::string& outcome, json orphan) {
    if (order_.as_json) {
      if (!outcome.empty()) orphan["outcome"] = outcome;
      reported_.push_back(std::move(orphan));
      return;
    }
    const std::string error = StringAt(orphan, "error");
    if (!outcome.empty()) std::printf("%-9s", outcome.c_str());
    std::printf("%s: %s%s\n", StringAt(orphan, "what").c_str(), StringAt(orphan, "why").c_str(),
                error.empty() ? "" : (": " + error).c_str());
  }

  Survey& survey_;
  const OrphanOrder& order_;
  json reported_ = json::array();
  PodStore store_;
  Writer writer_;
  size_t left_ = 0;
  size_t removed_ = 0;
};

void RefuseWhileLed(const Leader& leader) {
  if (leader.absent()) return;
  throw std::runtime_error(Readable(leader) +
                           "; a controller that leads removes what is left: stop all of them "
                           "first, or use --force");
}

void Conclude(const Removal& removal, const std::vector<std::string>& unreadable,
              const OrphanOrder& order) {
  if (order.as_json) {
    return service::PrintJson({{"orphans", removal.reported()}, {"unreadable", unreadable}});
  }
  for (const std::string& problem : unreadable)
    std::printf("an object cannot be read: %s\n", problem.c_str());
  if (order.act != OrphanAct::kList) {
    std::printf("%zu removed, %zu left\n", removal.removed(), removal.left());
  } else if (removal.left() > 0) {
    std::printf("%zu left; kuryr-controller orphans --remove removes them\n", removal.left());
  } else {
    std::printf("nothing is left\n");
  }
}

}  // namespace

int PrintOrphans(const Config& config, const OrphanOrder& order) {
  const OrphanAct act = order.act;
  Survey survey(config);
  const Leader leader = FindLeader(config, survey.client());
  if (act == OrphanAct::kRemove) RefuseWhileLed(leader);
  const bool nobody_leads = !leader.leads || act == OrphanAct::kRemoveAnyway;
  Removal removal(survey, order);
  // Owners are listed before pods: the owner of a pod that is made meanwhile is no orphan.
  std::map<std::string, Owner> owners;
  for (Owner& owner : survey.backend().Inventory()) owners.emplace(owner.id, std::move(owner));
  survey.ForEachPod([&](const Survey::Pod& pod) {
    owners.erase(pod.event.uid);
    const std::string why = WhyLeft(pod, survey, nobody_leads);
    if (!why.empty()) removal.Finalizer(pod, why);
  });
  if (config.node_network.enabled && !owners.empty()) {
    for (const Survey::Node& node : survey.FindNodes()) owners.erase(node.uid);
  }
  for (const auto& [key, port] : survey.ports()) {
    if (port.ours) removal.Port(key, port);
  }
  for (const auto& [id, owner] : owners) removal.Held(owner);
  if (auto* lister = survey.backend().facets().ports) {
    for (const ListedPort& port : lister->ListUnmarked())
      if (!lister->IsHeld(port.id)) removal.Unmarked(*lister, port);
  }
  std::vector<std::string> unreadable;
  for (const std::string& problem : survey.bad_items())
    unreadable.push_back(Printable(problem, kMostLine));
  Conclude(removal, unreadable, order);
  return removal.left() == 0 && unreadable.empty() ? 0 : service::kUnwell;
}

}  // namespace kuryr::controller
