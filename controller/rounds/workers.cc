#include "controller/rounds/workers.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/rollback.h"
#include "controller/owners/writer.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

constexpr std::chrono::seconds kLongestRetryAfter{120};

/// A round that the end of the process cuts off has not failed.
void LogFailure(RoundQueue& queue, const Key& key, const std::exception& e) {
  Log(queue.is_shut_down() ? LogLevel::kDebug : LogLevel::kError,
      "a round failed; it will be tried again",
      {{"object", key.ToString()}, {"error", WithMissingRight(e)}});
}

}  // namespace

Workers::Workers(RoundQueue& queue, size_t count, const std::function<Round()>& make_round)
    : queue_(queue) {
  std::vector<Round> rounds;
  rounds.reserve(count);
  for (size_t i = 0; i < count; ++i) rounds.push_back(make_round());
  Rollback stop([this]() noexcept { Stop(); });
  for (Round& round : rounds) {
    threads_.emplace_back([this, round = std::move(round)] { Work(round); });
  }
  stop.Dismiss();
}

void Workers::Stop() noexcept {
  queue_.ShutDown();
  threads_.clear();
}

void Workers::Work(const Round& round) {
  while (const auto item = queue_.Get()) {
    Try(round, item->key);
    queue_.Done(item->key);
  }
}

void Workers::Try(const Round& round, const Key& key) {
  try {
    round(key);
  } catch (const watcher::ApiError& e) {
    LogFailure(queue_, key, e);
    if (const auto delay = e.retry_after()) {
      queue_.AddAfter(key, std::min(*delay, kLongestRetryAfter), service::Hold::kFirmly);
    } else {
      queue_.AddRateLimited(key);
    }
  } catch (const std::exception& e) {
    LogFailure(queue_, key, e);
    queue_.AddRateLimited(key);
  }
}

}  // namespace kuryr::controller
