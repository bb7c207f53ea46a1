#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "tests/fake_apiserver/http_message.h"
#include "tests/fake_apiserver/server.h"

namespace kuryr::test {

/// A Neutron over HTTP that accepts every request and keeps networks, subnets and ports as JSON. It
/// refuses only requests for missing objects. Thread-safe.
class NeutronCloud {
 public:
  using Objects = std::vector<nlohmann::json>;

  NeutronCloud();

  [[nodiscard]] std::string url() const;
  /// The objects of a collection: "networks", "subnets", "ports".
  [[nodiscard]] Objects All(const std::string& collection) EXCLUDES(mutex_);
  /// Patches all objects of a collection, as Neutron itself does.
  void PatchAll(const std::string& collection, const nlohmann::json& fields) EXCLUDES(mutex_);
  /// Waits until the condition is true of a collection. False after 30 s.
  [[nodiscard]] bool WaitUntil(const std::string& collection,
                               const std::function<bool(const Objects&)>& condition)
      EXCLUDES(mutex_);

 private:
  using Collection = std::map<std::string, nlohmann::json>;

  void Serve(fake::Connection& connection);
  [[nodiscard]] fake::Answer Handle(const fake::HttpRequest& request) EXCLUDES(mutex_);
  [[nodiscard]] fake::Answer HandleRouter(const std::string& router, const std::string& verb,
                                          const nlohmann::json& body) REQUIRES(mutex_);
  [[nodiscard]] fake::Answer HandleOne(const fake::HttpRequest& request,
                                       const std::vector<std::string>& path) REQUIRES(mutex_);
  nlohmann::json Make(const std::string& collection, nlohmann::json fields) REQUIRES(mutex_);
  [[nodiscard]] Objects ListOf(const std::string& collection) const REQUIRES(mutex_);

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Collection> collections_ GUARDED_BY(mutex_);
  unsigned made_ GUARDED_BY(mutex_) = 0;
  fake::Server server_;  // last: its threads use all of the above
};

}  // namespace kuryr::test
