#pragma once

#include <chrono>
#include <list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/thread_annotations.h"
#include "tests/fake_apiserver/http_message.h"

namespace kuryr::fake {

/// Changes to the stream of a watch. Bytes and events count from the start of the body, without
/// chunk framing.
struct Tamper {
  /// Closes the connection in the middle, without the last chunk.
  std::optional<size_t> cut_after_bytes;
  std::optional<size_t> cut_after_events;
  /// Ends the stream in order.
  std::optional<size_t> end_after_events;
  /// Sends at most this many bytes at once (0: no limit), with a pause after each.
  size_t drip_bytes = 0;
  std::chrono::milliseconds drip_pause{0};
  /// The text after each event.
  std::string line_end = "\n";
  /// Text that goes into the stream as it is, after `insert_after_events` events.
  std::string insert;
  size_t insert_after_events = 0;
};

/// A fault of the next `count` requests that match.
struct Fault {
  enum class Kind {
    kAnswer,   // `answer` instead of the real one
    kSilence,  // the request is read and never answered
    kDrop,     // the connection is closed without an answer
    kTamper,   // watches only
  };

  Kind kind = Kind::kAnswer;
  std::string verb;          // get list watch create update patch delete; empty: any
  std::string path_prefix;   // of the path without query
  std::string unless_query;  // requests whose query has this text do not match
  int count = 1;             // negative: for ever
  Answer answer;
  Tamper tamper;

  /// An answer with a Status object of this code, as far as clients look at it.
  [[nodiscard]] static Fault Status(int code, const std::string& message);
  /// An answer 429 as the API server sends it: text/plain with Retry-After.
  [[nodiscard]] static Fault TooManyRequests(int retry_after_seconds);
  /// Watches that name no version are refused while the server's cache lags (kube-apiserver 1.36).
  [[nodiscard]] static Fault Lagging(const std::string& path_prefix, int count);
};

/// The faults to come, in the order in which they were added. Thread-safe.
class FaultPlan {
 public:
  void Add(Fault fault) EXCLUDES(mutex_);
  void Clear() EXCLUDES(mutex_);
  /// The first fault that matches the request; uses it up by one. `target` is path and query.
  [[nodiscard]] std::optional<Fault> Take(const std::string& verb, const std::string& path,
                                          const std::string& target) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::list<Fault> faults_ GUARDED_BY(mutex_);
};

/// A fault in the form of the control endpoint; see README.md. Throws ParseError for what has
/// another form.
[[nodiscard]] Fault FaultFromJson(const nlohmann::json& json);

/// Lines, some of them malformed, for Tamper::insert and for sending to open watches.
namespace stream_text {

[[nodiscard]] std::string Garbage();
[[nodiscard]] std::string BlankLines();
/// An ADDED event whose line is about `bytes` long.
[[nodiscard]] std::string HugeLine(size_t bytes);
[[nodiscard]] std::string UnknownType();
[[nodiscard]] std::string EventWithoutObject();
/// An ERROR event with code 410.
[[nodiscard]] std::string ExpiredError(const std::string& message);
/// The ERROR event with code 504 of a server whose cache lags (kube-apiserver 1.36).
[[nodiscard]] std::string LaggingError();

}  // namespace stream_text

}  // namespace kuryr::fake
