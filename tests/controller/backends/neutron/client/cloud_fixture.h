#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/client/neutron_client.h"
#include "tests/controller/backends/neutron/client/scripted_server.h"

namespace kuryr::controller::neutron {

inline constexpr const char* kPortId = "eebf73e7-b33d-4b80-b0b9-118adb04be3d";
/// The project of the token.
inline constexpr const char* kProjectId = "f00d5ca12d69441da7ef9633e99253e7";
inline constexpr const char* kNetworkId = "68898a73-c91b-40c7-9a6f-71537af49131";

/// The requests that a client reported: "port_create ok".
class ObservedRequests final : public RequestObserver {
 public:
  void OnRequest(RequestKind kind, std::optional<NeutronError::Kind> failure,
                 std::chrono::steady_clock::duration /*time*/) override {
    const MutexLock lock(mutex_);
    told_.push_back(std::string(NameOf(kind)) + " " + std::string(NameOf(failure)));
  }
  [[nodiscard]] std::vector<std::string> All() {
    const MutexLock lock(mutex_);
    return told_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> told_ GUARDED_BY(mutex_);
};

/// A Keystone and a Neutron that answer as scripted, and a client of both.
class CloudFixture : public ::testing::Test {
 protected:
  /// Scripts Keystone's answer: this token, its lifetime, and a catalog with the scripted Neutron.
  void GrantToken(const std::string& token, std::chrono::seconds lifetime = std::chrono::hours(1));
  [[nodiscard]] NeutronConfig Config() const;
  /// The client, which gets the token "first" when it asks for one.
  [[nodiscard]] NeutronClient& Client();
  /// The client of a Neutron that needs no token.
  [[nodiscard]] NeutronClient& ClientWithoutKeystone(
      const std::function<void(NeutronConfig&)>& change = [](NeutronConfig&) {});

  static std::optional<NeutronError> FailureOf(const std::function<void()>& act) {
    try {
      act();
    } catch (const NeutronError& e) {
      return e;
    }
    return std::nullopt;
  }

  ScriptedServer keystone_;
  ScriptedServer neutron_;
  ObservedRequests observed_;

 private:
  std::unique_ptr<NeutronClient> client_;
};

}  // namespace kuryr::controller::neutron
