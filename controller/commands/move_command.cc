#include "controller/commands/move_command.h"

#include <cstdio>
#include <stdexcept>

#include "base/error.h"
#include "controller/commands/leader.h"
#include "controller/commands/survey.h"
#include "controller/owners/plan_verdict.h"
#include "controller/owners/vif_sink.h"
#include "controller/owners/writer.h"

namespace kuryr::controller {
namespace {

constexpr size_t kMostMoved = 600;  ///< the longest line

/// Writes plans from annotations to KuryrPorts, prints each, and counts.
class Move {
 public:
  explicit Move(Survey& survey)
      : survey_(survey),
        store_(KindParts()),
        writer_(survey.client(), store_, [] { return true; }),
        sink_(MakeSink(SinkKind::kKuryrPort, writer_)) {}

  void Pod(const Survey::Pod& pod) {
    if (!NeedsPlan(*pod.known.pod) || pod.known.port || !pod.known.pod->plan.present) return;
    PodFacts facts = *pod.known.pod;
    Judge(survey_.backend(), {.sink = SinkKind::kPodState}, facts);
    if (!facts.plan.ours) return Leave(facts, "its annotation is another producer's");
    if (!facts.plan.refused.empty()) return Leave(facts, facts.plan.refused);
    if (!facts.plan.problem.empty()) return Leave(facts, facts.plan.problem);
    try {
      const auto vifs = PlanOn(pod.event).vifs;
      sink_->Write(pod.known, vifs);
      ++moved_;
      Say("moved", facts, Listed(PlannedAddresses(vifs)));
    } catch (const std::exception& e) {
      Leave(facts, e.what());
    }
  }

  [[nodiscard]] int Conclude() const {
    std::printf("%zu moved, %zu left\n", moved_, left_);
    return left_ == 0 ? 0 : 1;
  }

 private:
  void Leave(const PodFacts& pod, const std::string& why) {
    ++left_;
    Say("left", pod, why);
  }
  static void Say(const char* what, const PodFacts& pod, const std::string& text) {
    std::printf("%-5s  pod %s: %s\n", what,
                Printable(KeyOf(pod.name_space, pod.name), kMostMoved).c_str(),
                Printable(text, kMostMoved).c_str());
  }

  Survey& survey_;
  PodStore store_;
  Writer writer_;
  std::unique_ptr<VifSink> sink_;
  size_t moved_ = 0;
  size_t left_ = 0;
};

void RequireMovable(const Config& config, Survey& survey) {
  if (survey.backend().facets().addresses == nullptr) {
    throw std::runtime_error("adopt --from is for pools: with [controller] backend = " +
                             std::string(config.backend->name()) +
                             " a controller finds a pod's ports by its UID");
  }
  if (survey.places().sink != SinkKind::kKuryrPort) {
    throw std::runtime_error(
        "[kubernetes] vif_sink is not kuryrport, or the cluster has no definition of KuryrPorts: "
        "plans stay in annotations");
  }
  const Leader leader = FindLeader(config, survey.client());
  if (leader.absent()) return;
  throw std::runtime_error(Readable(leader) + "; stop all controllers first");
}

}  // namespace

int MovePlans(const Config& config) {
  Survey survey(config);
  RequireMovable(config, survey);
  Move move(survey);
  survey.ForEachPod([&](const Survey::Pod& pod) { move.Pod(pod); });
  return move.Conclude();
}

}  // namespace kuryr::controller
