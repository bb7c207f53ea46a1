#include "service/chore.h"

#include <exception>
#include <utility>

#include "base/log.h"

namespace kuryr::service {
namespace {

constexpr std::chrono::seconds kPutOff{1};

}  // namespace

Chore::Chore(std::string name, std::function<bool()> may_run, Run run)
    : name_(std::move(name)),
      may_run_(std::move(may_run)),
      run_(std::move(run)),
      thread_([this] { Work(); }) {}

void Chore::Work() {
  while (queue_.Get()) {
    try {
      if (may_run_()) {
        run_(*this);
      } else {
        Want(kPutOff);
      }
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "a chore failed; it will be tried again",
          {{"chore", name_}, {"error", e.what()}});
      Retry();
    }
    queue_.Done(name_);
  }
}

}  // namespace kuryr::service
