#pragma once

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "cni/attachments/attachment_store.h"
#include "cni/attachments/process.h"
#include "cni/node_context.h"
#include "tests/binding/node_fixture.h"

namespace kuryr::cni {

class NoWriter : public ApiWriter {
 public:
  void WriteLater(ApiWrite /*write*/) override {}
};

/// A node with a running pod, whose attachment has a record.
class RunningPodTest : public binding::NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    WaitForOvsdb(std::chrono::seconds(0));
    folder_ = std::filesystem::path(::testing::TempDir()) / ("store-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    store_.emplace(folder_);
    first_.emplace(MakePod(binding::PlugScenarios().front(), binding::kFirstPod));
    Connect(*first_);
    Record();
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    NodeTest::TearDown();
  }

  [[nodiscard]] AttachmentKey key() const {
    const binding::Attachment& attachment = first_->attachment;
    return {attachment.network, attachment.container_id, attachment.ifname};
  }
  /// The node as the agent's parts know it.
  [[nodiscard]] NodeContext Node() {
    return {.binding = *binding_, .attachments = *store_, .owner = {}, .writer = writer_};
  }

  std::filesystem::path folder_;
  std::optional<AttachmentStore> store_;
  NoWriter writer_;
  std::optional<Pod> first_;

 private:
  void Record() {
    const binding::Attachment& attachment = first_->attachment;
    AttachmentRecord record{.key = key(),
                            .added = true,
                            .netns = attachment.netns,
                            .netns_id = first_->netns.id(),
                            .pod = attachment.pod,
                            .pod_uid = attachment.pod_uid,
                            .boot_id = BootId(),
                            .plugs = {first_->planned.plug},
                            .vifs = {{.ifname = "eth0", .is_default = true, .vif = first_->vif}}};
    store_->Create(key())->Write(std::move(record));
  }
};

}  // namespace kuryr::cni
