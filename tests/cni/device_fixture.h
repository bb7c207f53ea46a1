#pragma once

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cni/commands/command_table.h"
#include "cni/protocol/error.h"
#include "kubelet/methods.h"
#include "kubelet/podresources.pb.h"
#include "tests/binding/drivers/sriov_driver_fixture.h"
#include "tests/binding/everything.h"
#include "tests/kubelet/kubelet_fixture.h"

namespace kuryr::cni {

/// Tells an ADD what it is given, and nothing else.
class GivenEvents : public PodEventSource {
 public:
  explicit GivenEvents(std::vector<watcher::WatchEvent> events) : events_(std::move(events)) {}

  void Start(const PodArgs& /*pod*/, PodHandler& handler) override {
    KnownPod known;
    for (const watcher::WatchEvent& event : events_) {
      if (known.Learn(event) == KnownPod::Change::kPresent) handler.OnPresent(*known.pod());
    }
  }
  void Stop() override {}
  [[nodiscard]] bool IsCurrent(const PlannedPod& /*pod*/) override { return true; }
  [[nodiscard]] bool IsGone(const PodArgs& /*pod*/) override { return false; }
  void RequireReady() override {}

 private:
  std::vector<watcher::WatchEvent> events_;
};

class NoWriter : public ApiWriter {
 public:
  void WriteLater(ApiWrite /*write*/) override {}
};

/// Pods on a node with a card whose VFs are 0000:03:10.0 to .3, and perhaps a kubelet.
class DeviceTest : public test::NetnsTest {
 protected:
  static constexpr const char* kResource = "intel.com/port_a";
  static constexpr const char* kUid = "5a1e1c8e-0000-4000-8000-000000000001";

  void SetUp() override {
    NetnsTest::SetUp();
    card_.emplace();
    config_.state_dir = "/run/kuryr";
    config_.binding = test::WithEverything({.sysfs = card_->sysfs.root()});
    config_.devices.kubelet_dir = "/run/kubelet";
    config_.devices.resources["physnet1"] = kResource;
    attachments_.emplace(config_.state_dir);
    binding_.emplace(ForDrivers(config_, *attachments_));
  }

  /// A kubelet that gave these devices of kResource to pod default/web.
  void StartKubelet(const std::set<std::string>& ids, const std::string& name_space = "default") {
    kubelet::v1::ListPodResourcesResponse answer;
    kubelet::v1::PodResources& pod = *answer.add_pod_resources();
    pod.set_name("web");
    pod.set_namespace_(name_space);
    kubelet::v1::ContainerDevices& devices = *pod.add_containers()->add_devices();
    devices.set_resource_name(kResource);
    for (const std::string& id : ids) devices.add_device_ids(id);
    std::filesystem::create_directories("/run/kubelet/pod-resources");
    kubelet_.reset();
    kubelet_ = std::make_unique<kubelet::RunningServer>(
        "/run/kubelet/pod-resources/kubelet.sock",
        kubelet::Methods{.unary = {{kubelet::kListPodResources,
                                    [this, bytes = answer.SerializeAsString()](const auto&) {
                                      ++times_asked_;
                                      return bytes;
                                    }}}});
  }

  /// VIFs as a producer plans them that leaves the device to others.
  static vif::VifSriov WithoutDevice(int n) {
    auto vif = binding::SriovVif(n);
    vif.dev_address.reset();
    vif.physnet = std::string("physnet1");
    return vif;
  }
  static vif::PodVif Default(vif::Vif vif) {
    return {.ifname = "eth0", .is_default = true, .vif = std::move(vif)};
  }
  static watcher::WatchEvent Event(const std::vector<vif::PodVif>& vifs) {
    return watcher::MakeEvent(
        watcher::EventType::kModified,
        {{"kind", "Pod"},
         {"apiVersion", "v1"},
         {"metadata",
          {{"name", "web"},
           {"namespace", "default"},
           {"uid", kUid},
           {"annotations", {{std::string(vif::kVifAnnotation), vif::EncodeAnnotation(vifs)}}}}}});
  }

  /// An attachment of pod default/web.
  struct Container {
    std::string id;
    std::string netns;
  };
  Container MakeContainer() {
    return {.id = "container-" + std::to_string(++containers_), .netns = MakePodNetnsPath()};
  }
  /// `fields` go into the network configuration, `args` behind CNI_ARGS.
  std::string Run(const std::string& command, const Container& container,
                  const std::vector<watcher::WatchEvent>& events = {},
                  const nlohmann::json& fields = nlohmann::json::object(),
                  const std::string& args = "") {
    nlohmann::json input = {{"cniVersion", "1.0.0"}, {"name", "kuryr"}, {"type", "kuryr-cni"}};
    input.update(fields);
    const Request request = ParseRequest(
        {.command = command,
         .container_id = container.id,
         .netns = container.netns,
         .ifname = "eth0",
         .args =
             "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=" + std::string(kUid) + args,
         .path = "/opt/cni/bin"},
        input.dump());
    GivenEvents source(events);
    const NodeContext node = {
        .binding = *binding_, .attachments = *attachments_, .owner = {}, .writer = writer_};
    return FindCommand(request.command)({.request = request,
                                         .node = node,
                                         .config = config_,
                                         .events = source,
                                         .stages = nobody_,
                                         .deadline = Deadline::After(std::chrono::seconds(60)),
                                         .on_added = {}});
  }
  /// "CODE MESSAGE; DETAILS" of an ADD that leaves nothing.
  std::string Refusal(const std::vector<vif::PodVif>& vifs,
                      const nlohmann::json& fields = nlohmann::json::object()) {
    const Container container = MakeContainer();
    const size_t before = attachments_->List().size();
    try {
      (void)Run("ADD", container, {Event(vifs)}, fields);
      return "none";
    } catch (const CniError& e) {
      EXPECT_EQ(attachments_->List().size(), before);
      EXPECT_FALSE(HasLink(container));
      return std::to_string(static_cast<int>(e.code())) + " " + e.what() + "; " + e.details();
    }
  }
  static bool HasLink(const Container& container) {
    return binding::RouteSocket::OpenIn(binding::Netns::Open(container.netns))
        .FindLink("eth0")
        .has_value();
  }
  /// The device that its record has.
  [[nodiscard]] std::string DeviceOf(const Container& container) const {
    const auto record = attachments_->Find({"kuryr", container.id, "eth0"});
    return record && !record->plugs.empty() ? record->plugs.front().device : "none";
  }
  /// The VF of the card, moved into a pod, is not the host's any more.
  void TakeFromHost(int n) { card_->sysfs.SetLinkOf(binding::VfAddress(n), ""); }

  std::optional<binding::FakeCard> card_;
  Config config_;
  std::optional<AttachmentStore> attachments_;
  std::optional<binding::Binding> binding_;
  NoWriter writer_;
  StageObserver nobody_;
  std::atomic<int> times_asked_ = 0;
  std::unique_ptr<kubelet::RunningServer> kubelet_;
  int containers_ = 0;
};

}  // namespace kuryr::cni
