#include "controller/commands/adopt_command.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "controller/commands/leader.h"
#include "controller/commands/pod_words.h"
#include "controller/commands/survey.h"
#include "service/command_line.h"
#include "service/table.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr size_t kLongestText = 600;

/// Reports the fate of each object, and counts.
class Adoption {
 public:
  explicit Adoption(bool as_json) : as_json_(as_json) {}

  void Pod(const Survey::Pod& pod, const Decision& decision) {
    const std::string key = KeyOf(pod.event.name_space, pod.event.name);
    const Fate& fate = WordsOf(decision.act).fate;
    pods_[pod.event.uid] = {key, fate.act};
    if (!decision.problem.empty()) return Lose("pod " + key, decision.problem);
    if (!fate.act.empty()) Say(fate.act, "pod " + key, fate.why);
  }

  void KuryrPort(const std::string& key, const PortFacts& port) {
    Lose("KuryrPort " + key,
         port.ours ? "its pod is gone: kuryr-controller orphans --remove deletes it"
                   : "its pod is gone, and it is another producer's: its finalizers are to be "
                     "taken away by hand");
  }

  void Port(const ListedPort& port, bool planned) {
    const std::string name = port.name.empty() ? "" : " (" + port.name + ")";
    const std::string what = "port " + port.id + name;
    if (planned) return;
    if (!port.owner_id.empty()) return OwnedPort(what, port.owner_id);
    if (!port.spare) return Lose(what, "nothing says whose it is");
    if (!port.place.empty()) return Say("take over", what, "ready for pods at " + port.place);
    Lose(what, "of a pool, and [kubernetes] vif_pool_driver names none");
  }

  void BadItem(const std::string& problem) { Lose("an object", "it cannot be read: " + problem); }

  [[nodiscard]] int Conclude(const std::string& leader, const std::string& why_no_ports) {
    if (as_json_) {
      json answer = {{"leader", leader}, {"objects", std::move(reported_)}};
      if (!why_no_ports.empty()) answer["ports_not_looked_at"] = why_no_ports;
      service::PrintJson(answer);
      return lost_ ? service::kUnwell : 0;
    }
    if (!why_no_ports.empty()) std::printf("ports are not looked at: %s\n", why_no_ports.c_str());
    std::printf("%zu to take over, %zu to plan, %zu to release, %zu to leave\n",
                counts_["take over"], counts_["plan"], counts_["release"], counts_["leave"]);
    return lost_ ? service::kUnwell : 0;
  }

 private:
  struct KnownPod {
    std::string key;
    std::string fate;
  };

  void OwnedPort(const std::string& what, const std::string& owner_id) {
    const auto pod = pods_.find(owner_id);
    if (pod == pods_.end())
      return Lose(
          what, "pod " + owner_id + " is gone: kuryr-controller orphans --remove deletes the port");
    const std::string whose = "pod " + pod->second.key + "'s, ";
    if (pod->second.fate == "plan") return Say("take over", what, whose + "which has no plan");
    if (pod->second.fate == "release")
      return Say("release", what, whose + "which is done or deleted");
    Say("leave", what, whose + "whose plan does not name it");
  }

  /// An object that no controller looks after.
  void Lose(const std::string& what, const std::string& why) {
    lost_ = true;
    Say("leave", what, why);
  }
  void Say(const std::string& fate, const std::string& what, const std::string& why) {
    ++counts_[fate];
    const std::string object = Printable(what, kLongestText);
    const std::string reason = Printable(why, kLongestText);
    if (as_json_)
      reported_.push_back({{"fate", fate}, {"what", object}, {"why", reason}});
    else
      std::printf("%-9s  %s: %s\n", fate.c_str(), object.c_str(), reason.c_str());
  }

  const bool as_json_;
  json reported_ = json::array();
  std::unordered_map<std::string, KnownPod> pods_;  ///< by UID
  std::map<std::string, size_t> counts_;
  bool lost_ = false;
};

}  // namespace

int PrintAdoption(const Config& config, bool as_json) {
  Survey survey(config);
  const std::string leader = Readable(FindLeader(config, survey.client()));
  if (!as_json) std::printf("%s\n", leader.c_str());
  Adoption adoption(as_json);
  // Ports are listed before pods: a port that a controller makes meanwhile would have no pod.
  const PortLister* lister = survey.backend().facets().ports;
  std::vector<ListedPort> ports;
  if (lister != nullptr) ports = lister->ListPorts();
  survey.ForEachPod([&](const Survey::Pod& pod) { adoption.Pod(pod, DecideListed(pod, survey)); });
  for (const auto& [key, port] : survey.ports()) adoption.KuryrPort(key, port);
  for (const ListedPort& port : ports) adoption.Port(port, lister->IsHeld(port.id));
  for (const std::string& problem : survey.bad_items()) adoption.BadItem(problem);
  const auto why = lister == nullptr ? std::nullopt : lister->WhyNotListed();
  return adoption.Conclude(leader, why.value_or(""));
}

}  // namespace kuryr::controller
