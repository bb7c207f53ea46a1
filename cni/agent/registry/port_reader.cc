#include "cni/agent/registry/port_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "watcher/api_error.h"
#include "watcher/list_pages.h"

namespace kuryr::cni {
namespace {

using std::chrono::seconds;

/// ADDs wait for it.
constexpr seconds kAnswerTime{10};
constexpr seconds kMostRetryAfter{120};

watcher::ApiConfig Impatient(watcher::ApiConfig config) {
  config.connect_timeout = std::min(config.connect_timeout, kAnswerTime);
  config.read_timeout = std::min(config.read_timeout, kAnswerTime);
  return config;
}

/// A list of one: unlike a GET of it, it also tells a KuryrPort that is missing from an API server
/// that has none at all (404).
std::string PathOf(const std::string& key) {
  const size_t slash = key.find('/');
  return "/apis/openstack.org/v1/namespaces/" + key.substr(0, slash) +
         "/kuryrports?fieldSelector=metadata.name%3D" + watcher::Escaped(key.substr(slash + 1));
}

/// The end of one that was never there changes nothing.
watcher::WatchEvent Missing(const std::string& key) {
  const size_t slash = key.find('/');
  return watcher::MakeEvent(
      watcher::EventType::kDeleted,
      {{"kind", "KuryrPort"},
       {"metadata", {{"namespace", key.substr(0, slash)}, {"name", key.substr(slash + 1)}}}});
}

}  // namespace

PortReader::PortReader(const watcher::ApiConfig& config, Outside outside)
    : outside_(std::move(outside)),
      client_(Impatient(config)),
      watcher_(config, outside_.handler,
               [this](const std::exception_ptr& failure) { OnWatchFailure(failure); }),
      thread_([this] { Run(); }) {
  watcher_.Start();
}

void PortReader::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  client_.Stop();
  if (thread_.joinable()) thread_.join();
  watcher_.Stop();
}

void PortReader::Follow(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto followed = followed_.try_emplace(key).first;
  // Its Unfollow, of another thread, may have been faster.
  if (++followed->second.times == 0) {
    followed_.erase(followed);
    return;
  }
  Queue(key);
  changed_.notify_all();
}

void PortReader::Unfollow(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto found = followed_.try_emplace(key).first;
  if (--found->second.times != 0) return;
  if (found->second.watched) watcher_.Remove(PathOf(key));
  followed_.erase(found);
  // One is kept to find out when questions are answered again.
  if (!counts_.failing_since || queue_.size() > 1) std::erase(queue_, key);
}

PortReader::Counts PortReader::counts() const {
  const MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.watched = static_cast<size_t>(std::count_if(
      followed_.begin(), followed_.end(), [](const auto& port) { return port.second.watched; }));
  return counts;
}

void PortReader::Queue(const std::string& key) {
  std::erase(queue_, key);
  queue_.push_front(key);
}

std::string PortReader::Next() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    if (queue_.empty()) {
      changed_.wait(mutex_);
    } else if (Clock::now() < not_before_) {
      changed_.wait_until(mutex_, not_before_);
    } else {
      const std::string key = queue_.back();
      queue_.pop_back();
      return key;
    }
  }
  return {};
}

void PortReader::Run() {
  for (std::string key = Next(); !key.empty(); key = Next()) Note(key, Ask(key));
}

PortReader::Answer PortReader::Read(const std::string& key) {
  const watcher::ListPage list(client_.GetText(PathOf(key)));
  Answer answer = {.outcome = Outcome::kMissing, .state = {.version = list.version()}};
  list.ForEachItem([&](std::string_view item) {
    answer.outcome = Outcome::kFound;
    try {
      const auto event = watcher::ParseListItem(item, list.item_type());
      outside_.handler.Handle(event);
      answer.state.objects.push_back(event);
    } catch (const ParseError& e) {
      Log(LogLevel::kWarning, "KuryrPort skipped", {{"object", key}, {"error", e.what()}});
    }
  });
  if (answer.outcome == Outcome::kMissing) outside_.handler.Handle(Missing(key));
  return answer;
}

PortReader::Answer PortReader::Ask(const std::string& key) {
  Answer failed;
  try {
    return Read(key);
  } catch (const watcher::ApiError& e) {
    if (e.code() == watcher::ApiError::kNotFound) {
      outside_.handler.Handle(Missing(key));
      return {.outcome = Outcome::kAbsent};
    }
    failed.retry_after = std::min(e.retry_after().value_or(seconds(0)), kMostRetryAfter);
    if (!client_.stopped()) outside_.on_failure(std::current_exception());
  } catch (const std::exception&) {
    if (!client_.stopped()) outside_.on_failure(std::current_exception());
  }
  return failed;
}

void PortReader::OnWatchFailure(const std::exception_ptr& failure) {
  {
    const MutexLock lock(mutex_);
    ++counts_.failed_watches;
  }
  outside_.on_failure(failure);
}

void PortReader::Note(const std::string& key, Answer answer) {
  const Outcome outcome = answer.outcome;
  const bool waits = outcome != Outcome::kFailed && !outside_.is_complete(key);
  const auto now = Clock::now();
  const MutexLock lock(mutex_);
  ++counts_.questions.at(static_cast<size_t>(outcome));
  const auto followed = followed_.find(key);
  if (outcome == Outcome::kFailed) {
    if (answered_ && !counts_.failing_since) counts_.failing_since = now;
    not_before_ = now + std::max<Clock::duration>(backoff_.Next(), answer.retry_after);
    if (followed != followed_.end() || counts_.failing_since) Queue(key);
    return;
  }
  backoff_.Reset();
  counts_.failing_since.reset();
  const bool was_absent = std::exchange(is_absent_, outcome == Outcome::kAbsent);
  if (was_absent != is_absent_) {
    Log(LogLevel::kInfo,
        is_absent_ ? "the API server has no KuryrPorts" : "the API server has KuryrPorts now");
  }
  if (is_absent_) {
    absent_.Add(now);
    not_before_ = absent_.Next();
    if (followed != followed_.end()) Queue(key);
    return;
  }
  answered_ = true;
  not_before_ = {};
  if (followed == followed_.end() || followed->second.watched || !waits) return;
  followed->second.watched = true;
  watcher_.Add(PathOf(key), watcher::WatchMode::kPresentState, {.begin = std::move(answer.state)});
}

}  // namespace kuryr::cni
