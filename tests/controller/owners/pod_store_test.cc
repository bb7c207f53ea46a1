#include "controller/owners/pod_store.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "watcher/watch_event.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using watcher::EventType;

class EndedPortTest : public ::testing::Test {
 protected:
  void Tell(EventType type, const std::string& uid) {
    const json port = {{"kind", "KuryrPort"},
                       {"apiVersion", "openstack.org/v1"},
                       {"metadata", {{"namespace", "default"}, {"name", "a"}, {"uid", uid}}}};
    store_.Handle(watcher::MakeEvent(type, port));
  }
  [[nodiscard]] bool HasPort() const { return store_.Find("default/a").port != nullptr; }

  PodStore store_{KindParts()};
};

/// The watch tells first that it ends, and is not asked for another request.
TEST_F(EndedPortTest, IsGoneWhateverTheWatchStillTells) {
  Tell(EventType::kAdded, "first");
  store_.ForgetPort("default/a", "first");

  Tell(EventType::kModified, "first");

  EXPECT_FALSE(HasPort());
  Tell(EventType::kDeleted, "first");
  EXPECT_TRUE(store_.Find("default/a").IsEmpty());
}

TEST_F(EndedPortTest, NextOneOfThatNameIsKnown) {
  Tell(EventType::kAdded, "first");
  store_.ForgetPort("default/a", "first");

  Tell(EventType::kAdded, "second");

  EXPECT_TRUE(HasPort());
}

TEST_F(EndedPortTest, NothingIsKeptOfOneWhoseEndTheWatchHasTold) {
  Tell(EventType::kAdded, "first");
  Tell(EventType::kDeleted, "first");

  store_.ForgetPort("default/a", "first");

  EXPECT_TRUE(store_.Find("default/a").IsEmpty());
}

}  // namespace
}  // namespace kuryr::controller
