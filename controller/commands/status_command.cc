#include "controller/commands/status_command.h"

#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "controller/commands/leader.h"
#include "controller/commands/local_role.h"
#include "controller/commands/pod_events.h"
#include "controller/commands/pod_words.h"
#include "controller/commands/survey.h"
#include "controller/election/api_time.h"
#include "controller/owners/plan_verdict.h"
#include "controller/rounds/reporter.h"
#include "service/table.h"
#include "vif/readable.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr size_t kMostRows = 100;
constexpr size_t kMostText = 1000;

json OrNull(const std::string& text) { return text.empty() ? json() : json(text); }

json ToJson(const Leader& leader) {
  return {{"holder", OrNull(leader.holder)},
          {"leads", leader.leads},
          {"age", leader.age ? json(leader.age->count()) : json()},
          {"unknown", OrNull(leader.unknown)}};
}

json RowOf(const PodQuestion& question) {
  const Survey::Pod& pod = question.pod;
  return {{"state", WordsOf(question.decision.act).state},
          {"uid", pod.event.uid},
          {"node", OrNull(pod.known.pod->node)},
          {"age", AgeOf(pod).count()},
          {"why", OrNull(WhyOf(question))}};
}

bool IsWell(const Decision& decision) {
  const std::string state = WordsOf(decision.act).state;
  return state == "none" || state == "others" || state == "planned";
}

void PrintHead(const Leader& leader) {
  std::printf("kuryr-controller %s: %s\n", KURYR_VERSION, Readable(leader).c_str());
}

/// States, what their counts are called, and whether that is printed where there is none.
constexpr std::array<std::tuple<const char*, const char*, bool>, 8> kCounted = {{
    {"planned", "planned", true},
    {"waiting", "waiting", true},
    {"planned,inactive", "inactive", true},
    {"planned,conflict", "in conflict", false},
    {"planned,lost", "lost", false},
    {"bad", "bad", false},
    {"others", "other producers'", true},
    {"releasing", "releasing", true},
}};

/// All pods: counts by state, and rows for plans that are not as they should be.
struct Overview {
  std::map<std::string, size_t> counts;
  json rows = json::object();
  size_t more = 0;
};

Overview LookAround(Survey& survey, const Leader& leader, const PodEvents& events) {
  Overview overview;
  for (const auto& [state, text, always] : kCounted) overview.counts[state] = 0;
  survey.ForEachPod([&](const Survey::Pod& pod) {
    const Decision decision = DecideListed(pod, survey, &events);
    if (decision.act == Act::kNone) return;
    ++overview.counts[WordsOf(decision.act).state];
    if (IsWell(decision)) return;
    if (overview.rows.size() == kMostRows) {
      ++overview.more;
    } else {
      overview.rows[KeyOf(pod.event.name_space, pod.event.name)] =
          RowOf({pod, decision, leader, events, survey});
    }
  });
  return overview;
}

/// The nodes that have no management port planned, by [node_network], and what Events say of nodes.
struct NodeOverview {
  size_t planned = 0;
  std::vector<std::string> waiting;
  json problems = json::object();  ///< texts, by node
};

/// A problem that lasts is told again, so what was told long ago is over.
bool IsPresent(const PodEvents::Told* told) {
  return told != nullptr && told->reason != kNodeServed &&
         AgeOf(told->at) <= Reporter::kAgain + std::chrono::minutes(1);
}

NodeOverview LookAtNodes(Survey& survey, const Config& config, const PodEvents& events) {
  NodeOverview nodes;
  if (!config.node_network.enabled) return nodes;
  for (const Survey::Node& node : survey.FindNodes()) {
    const PodEvents::Told* told = events.Find(node.uid);
    if (IsPresent(told) && nodes.problems.size() < kMostRows)
      nodes.problems[node.name] = told->ToString();
    if (node.is_planned) {
      ++nodes.planned;
    } else {
      nodes.waiting.push_back(node.name);
    }
  }
  return nodes;
}

void PrintNodes(const NodeOverview& nodes) {
  std::printf("management ports: %zu planned, %zu waiting\n", nodes.planned, nodes.waiting.size());
  for (size_t i = 0; i < nodes.waiting.size() && i < kMostRows; ++i) {
    if (!nodes.problems.contains(nodes.waiting[i]))
      std::printf("node %s has none, and no Event says why\n", Printable(nodes.waiting[i]).c_str());
  }
  for (const auto& [name, problem] : nodes.problems.items())
    std::printf("node %s: %s\n", Printable(name).c_str(),
                Printable(problem.get<std::string>(), kMostText).c_str());
}

/// Objects and Events that could not be read.
std::vector<std::string> GapsOf(const Survey& survey, const PodEvents& events) {
  std::vector<std::string> gaps;
  for (const std::string& problem : survey.bad_items())
    gaps.push_back("an object cannot be read: " + problem);
  if (!events.problem().empty()) gaps.push_back("Events are not known: " + events.problem());
  return gaps;
}

void PrintCounts(const Overview& overview) {
  const char* separator = "";
  for (const auto& [state, text, always] : kCounted) {
    const size_t count = overview.counts.at(state);
    if (count == 0 && !always) continue;
    std::printf("%s%zu %s", separator, count, text);
    separator = ", ";
  }
  std::printf("\n");
}

void PrintTable(const Overview& overview) {
  if (overview.rows.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"POD", "STATE", "NODE", "AGE", "WHY"}};
  for (const auto& [name, row] : overview.rows.items()) {
    rows.push_back({name, StringAt(row, "state"), StringAt(row, "node"),
                    service::Age(std::chrono::seconds(row["age"].get<int64_t>())),
                    StringAt(row, "why")});
  }
  std::printf("%s", service::Table(std::move(rows)).c_str());
  if (overview.more > 0) std::printf("and %zu more\n", overview.more);
}

/// What there is to say of the cluster.
struct ClusterStatus {
  Leader leader;
  std::string here;  ///< LocalRole
  NodeOverview nodes;
  Overview overview;
  std::vector<std::string> gaps;
  bool is_well = false;
};

ClusterStatus LookAtCluster(Survey& survey, const Config& config) {
  ClusterStatus status{.leader = FindLeader(config, survey.client()), .here = LocalRole(config)};
  const PodEvents events(survey.client());
  status.nodes = LookAtNodes(survey, config, events);
  status.overview = LookAround(survey, status.leader, events);
  status.gaps = GapsOf(survey, events);
  status.is_well = status.overview.rows.empty() && status.nodes.waiting.empty() &&
                   status.nodes.problems.empty() && survey.bad_items().empty() &&
                   !status.leader.absent();
  return status;
}

json ToJson(const ClusterStatus& status) {
  const NodeOverview& nodes = status.nodes;
  return {{"version", KURYR_VERSION},
          {"leader", ToJson(status.leader)},
          {"here", OrNull(status.here)},
          {"counts", status.overview.counts},
          {"pods", status.overview.rows},
          {"more", status.overview.more},
          {"nodes",
           {{"planned", nodes.planned}, {"waiting", nodes.waiting}, {"problems", nodes.problems}}},
          {"gaps", status.gaps}};
}

int PrintAll(const ClusterStatus& status, const Config& config, bool as_json) {
  if (as_json) {
    service::PrintJson(ToJson(status));
  } else {
    PrintHead(status.leader);
    if (!status.here.empty()) std::printf("the one on this machine: %s\n", status.here.c_str());
    PrintCounts(status.overview);
    if (config.node_network.enabled) PrintNodes(status.nodes);
    for (const std::string& gap : status.gaps)
      std::printf("%s\n", Printable(gap, kMostText).c_str());
    PrintTable(status.overview);
  }
  return status.is_well ? 0 : 1;
}

/// All that is known of one pod.
json Describe(const PodQuestion& question) {
  const KnownPod& known = question.pod.known;
  json pod = RowOf(question);
  const bool beside = &PlanOf(known) != &known.pod->plan;
  pod["producer"] = nullptr;
  if (PlanOf(known).present || IsOthers(known))
    pod["producer"] = IsOthers(known) ? "another producer" : "kuryr-controller";
  pod["plan"] = nullptr;
  if (PlanOf(known).present) pod["plan"] = beside ? "KuryrPort" : "annotation";
  pod["finalizer"] = known.pod->has_finalizer;
  pod["next"] = NextOf(question);
  pod["event"] = nullptr;
  if (const PodEvents::Told* told = question.events.Find(question.pod.event.uid))
    pod["event"] = {
        {"reason", told->reason}, {"message", told->message}, {"age", AgeOf(told->at).count()}};
  return pod;
}

json ToJson(const std::vector<vif::PodVif>& vifs) {
  json all = json::array();
  for (const vif::PodVif& vif : vifs) {
    all.push_back({{"ifname", vif.ifname},
                   {"default", vif.is_default},
                   {"vif", vif::EncodeVif(vif.vif, vif::Changes::kOmit)}});
  }
  return all;
}

void PrintEvent(const json& event) {
  if (event.is_null()) return;
  std::printf("  %s ago: %s %s\n",
              service::Age(std::chrono::seconds(event["age"].get<int64_t>())).c_str(),
              StringAt(event, "reason").c_str(), StringAt(event, "message").c_str());
}

void PrintPod(const std::string& name, const json& pod) {
  const auto text = [&](const char* key) { return Printable(StringAt(pod, key), kMostText); };
  std::printf("%s  %s\n", name.c_str(), text("uid").c_str());
  std::printf("  %s since %s%s%s\n", text("state").c_str(),
              service::Age(std::chrono::seconds(pod["age"].get<int64_t>())).c_str(),
              pod["node"].is_null() ? ", without a node" : ", node ", text("node").c_str());
  if (!pod["why"].is_null()) std::printf("  ✗ %s\n", text("why").c_str());
  if (!pod["plan"].is_null()) {
    std::printf("  planned by %s, %s\n", text("producer").c_str(),
                pod["plan"] == "KuryrPort" ? "on its KuryrPort" : "in its annotation");
  }
  std::printf("  %s\n", pod["finalizer"] == true ? kPodFinalizer : "no finalizer");
  PrintEvent(pod["event"]);
  std::printf("  next: %s\n", text("next").c_str());
}

int PrintOne(Survey& survey, const Leader& leader, const std::string& name, bool as_json) {
  const PodKey key(name);
  const auto pod = survey.FindPod(key);
  const PodEvents events(survey.client(), key.name_space);
  json pods = json::object();
  std::vector<vif::PodVif> vifs;
  bool well = false;
  if (pod) {
    const Decision decision = DecideListed(*pod, survey, &events);
    well = IsWell(decision) && !leader.absent();
    pods[name] = Describe({*pod, decision, leader, events, survey});
    vifs = survey.FindVifs(*pod);
    pods[name]["vifs"] = ToJson(vifs);
  }
  const std::vector<std::string> gaps = GapsOf(survey, events);
  if (as_json) {
    service::PrintJson({{"version", KURYR_VERSION},
                        {"leader", ToJson(leader)},
                        {"pods", std::move(pods)},
                        {"gaps", gaps}});
  } else {
    PrintHead(leader);
    for (const std::string& gap : gaps) std::printf("%s\n", Printable(gap, kMostText).c_str());
    if (pod) {
      PrintPod(name, pods[name]);
      std::printf("%s", vif::Readable(vifs).c_str());
    } else {
      std::printf("%s is not in the cluster\n", name.c_str());
    }
  }
  return well ? 0 : 1;
}

}  // namespace

int PrintStatus(const Config& config, const service::StatusOptions& wanted) {
  Survey survey(config);
  if (wanted.pod.empty()) return PrintAll(LookAtCluster(survey, config), config, wanted.as_json);
  return PrintOne(survey, FindLeader(config, survey.client()), wanted.pod, wanted.as_json);
}

json StatusOf(const Config& config) {
  Survey survey(config);
  return ToJson(LookAtCluster(survey, config));
}

}  // namespace kuryr::controller
