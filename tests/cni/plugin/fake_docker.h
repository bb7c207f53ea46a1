#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace kuryr::test {

/// As much of the Docker Engine's API as tells the processes of containers: GET
/// /containers/ID/json on a unix socket, one connection at a time.
class FakeDocker {
 public:
  /// By container ID; listens when it returns.
  FakeDocker(const std::string& socket, std::map<std::string, pid_t> containers);
  FakeDocker(const FakeDocker&) = delete;
  FakeDocker& operator=(const FakeDocker&) = delete;
  ~FakeDocker();

 private:
  void Serve();
  [[nodiscard]] std::string AnswerTo(const std::string& request) const;

  const std::map<std::string, pid_t> containers_;
  UniqueFd listener_;
  std::thread thread_;
};

}  // namespace kuryr::test
