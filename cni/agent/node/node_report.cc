#include "cni/agent/node/node_report.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"

namespace kuryr::cni {
namespace {

using watcher::PodEvent;

const char* Word(NodeReport::Outcome outcome) {
  switch (outcome) {
    case NodeReport::Outcome::kMade:
      return "made";
    case NodeReport::Outcome::kRepaired:
      return "repaired";
    case NodeReport::Outcome::kFailed:
      return "failed";
    case NodeReport::Outcome::kContested:
      return "contested";
  }
  return "unknown";
}

PodEvent EventOf(const std::string& differences, NodeReport::Outcome outcome) {
  if (outcome == NodeReport::Outcome::kRepaired)
    return {.reason = "NodeNetworkRepaired", .message = "Repaired: " + differences};
  return {.type = PodEvent::Type::kWarning,
          .reason = "NodeNetworkContested",
          .message = "Something undoes each repair, which waits now: " + differences};
}

std::string TextOf(const binding::Differences& found) {
  // A new node in a large cluster finds thousands of routes missing.
  constexpr size_t kMostTold = 3;
  std::string texts;
  for (size_t i = 0; i < found.size() && i < kMostTold; ++i)
    texts += (i == 0 ? "" : "; ") + found[i].text;
  if (found.size() > kMostTold)
    texts += "; and " + std::to_string(found.size() - kMostTold) + " more";
  return texts;
}

}  // namespace

void NodeReport::Tell(const std::string& part, const binding::Differences& found,
                      NodeReport::Outcome outcome, const std::string& uid) {
  const std::string texts = TextOf(found);
  Log(outcome == NodeReport::Outcome::kContested ? LogLevel::kWarning : LogLevel::kInfo,
      "the node's network differs from its plan",
      {{"outcome", Word(outcome)}, {"part", part}, {"differences", texts}});
  count_.Add(part, Word(outcome));
  if (outcome == NodeReport::Outcome::kRepaired || outcome == NodeReport::Outcome::kContested)
    Post(EventOf(texts, outcome), uid);
}

void NodeReport::TellFailure(const std::string& part, const binding::Differences& found,
                             const std::string& why, bool is_news, const std::string& uid) {
  const char* outcome = Word(Outcome::kFailed);
  count_.Add(part, outcome);
  if (!is_news) return;
  const std::string reason = Printable(why, 300);
  Log(LogLevel::kWarning,
      "the node's network could not be made as planned; it is tried again ever less often",
      {{"outcome", outcome}, {"part", part}, {"differences", TextOf(found)}, {"error", reason}});
  Post({.type = PodEvent::Type::kWarning,
        .reason = "NodeNetworkFailed",
        .message = "Could not be made as planned, and is tried again ever less often: " + part +
                   ": " + reason},
       uid);
}

void NodeReport::Post(const PodEvent& event, const std::string& uid) const {
  if (!config_.reports.use_events) return;
  try {
    const watcher::EventSubject node = {.name = config_.node_name, .uid = uid, .kind = "Node"};
    writer_.WriteLater({.kind = ApiWrite::Kind::kCreate,
                        .path = "/api/v1/namespaces/" + watcher::EventNamespaceOf("") + "/events",
                        .body = EncodePodEvent(event, node, {"kuryr-cni", config_.node_name})});
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "nothing told to the API server", {{"error", e.what()}});
  }
}

void NodeReport::WriteTo(service::MetricsText& text) const {
  constexpr const char* kName = "kuryr_daemon_node_network_changes_total";
  text.Head(kName, "counter", "Changes of the node's own network, by part and outcome.");
  count_.ForEach([&](const std::string& part, const std::string& outcome, double count) {
    text.Sample(kName, {{"part", part}, {"outcome", outcome}}, count);
  });
}

}  // namespace kuryr::cni
