#include "controller/backends/neutron/ports/port_request.h"
#include "tests/controller/backends/neutron/neutron_fixture.h"

// Ports of pods that ended while no controller led.

namespace kuryr::controller::neutron {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class OrphanTest : public NeutronBackendTest {
 protected:
  OrphanTest() {
    times_.search = std::chrono::milliseconds(0);
    defaults_.orphan_interval = std::chrono::seconds(1);
    is_gone_ = [this](const Owner& pod) {
      const MutexLock lock(asked_mutex_);
      asked_.push_back(pod);
      return pod.id != "uid-alive";
    };
    Start();
  }
  /// The backend calls `is_gone_` to its end.
  ~OrphanTest() override {
    neutron_.LetGo();
    backend_.reset();
  }

  PortRequest PortFor(const Owner& owner) const {
    return {.name = PortNameOf(owner, "eth0"),
            .network_id = FakeNeutron::kNetwork,
            .fixed_ips = {{FakeNeutron::kSubnet4, std::nullopt}},
            .device_id = owner.id,
            .device_owner = kDeviceOwner,
            .host_id = owner.node,
            .tags = defaults_.tags};
  }
  /// Waits for two looks that begin after this call.
  [[nodiscard]] bool WaitForLooks() {
    return neutron_.WaitForCount("ListPorts",
                                 neutron_.CountOf("ListPorts") + 2 * kListsOfALook + 1);
  }
  std::vector<Owner> asked() EXCLUDES(asked_mutex_) {
    const MutexLock lock(asked_mutex_);
    return asked_;
  }

  static constexpr size_t kListsOfALook = 2;  ///< by tags, and by the mark

 private:
  Mutex asked_mutex_;
  std::vector<Owner> asked_ GUARDED_BY(asked_mutex_);
};

TEST_F(OrphanTest, PortOfAPodThatIsGoneIsReleasedAtTheSecondLook) {
  (void)neutron_.Add(PortFor(Pod("a")));
  neutron_.Hold("DeletePort");

  backend_->EndAdoption();

  ASSERT_TRUE(neutron_.WaitForHeld());
  EXPECT_THAT(asked(), SizeIs(2));
  EXPECT_EQ(asked()[0].scope + "/" + asked()[0].name, "team/a");
  EXPECT_EQ(backend_->released_orphans(), 1U);
  neutron_.LetGo();
  EXPECT_TRUE(neutron_.WaitUntil([](const auto& ports) { return ports.empty(); }));
}

TEST_F(OrphanTest, PortWhoseTagsWereToFollowIsReleased) {
  PortRequest request = PortFor(Pod("a"));
  request.tags.clear();
  request.description = MarkOf(defaults_);
  (void)neutron_.Add(request);

  backend_->EndAdoption();

  EXPECT_TRUE(neutron_.WaitUntil([](const auto& ports) { return ports.empty(); }));
}

TEST_F(OrphanTest, PortOfALateRequestIsReleasedAfterTheOthers) {
  (void)neutron_.Add(PortFor(Pod("a")));
  backend_->EndAdoption();
  ASSERT_TRUE(neutron_.WaitUntil([](const auto& ports) { return ports.empty(); }));

  (void)neutron_.Add(PortFor(Pod("a")));

  EXPECT_TRUE(neutron_.WaitUntil([](const auto& ports) { return ports.empty(); }));
}

TEST_F(OrphanTest, DeletionThatFailsIsRepeated) {
  (void)neutron_.Add(PortFor(Pod("a")));
  neutron_.Fail("DeletePort", {});

  backend_->EndAdoption();

  EXPECT_TRUE(neutron_.WaitUntil([](const auto& ports) { return ports.empty(); }));
}

TEST_F(OrphanTest, PortsThatMayBeInUseStay) {
  Owner node{.id = "uid-n1", .name = "n1", .node = "n1"};
  PortRequest other = PortFor(Pod("other"));
  other.tags = {"cluster-b"};
  PortRequest ready = PortFor({});
  ready.name = kReadyName;
  PortRequest kuryr_kubernetes = PortFor(Pod("kuryr"));
  kuryr_kubernetes.name = "team/kuryr";
  PortRequest hostile = PortFor(Pod("hostile"));
  hostile.name = "team/../eth0";
  PortRequest cut = PortFor(Pod(std::string(253, 'p')));
  for (const PortRequest& request :
       {PortFor(node), other, ready, kuryr_kubernetes, hostile, cut, PortFor(Pod("alive"))})
    (void)neutron_.Add(request);
  neutron_.SetActive(neutron_.Add(PortFor(Pod("plugged"))).id);

  backend_->EndAdoption();

  EXPECT_TRUE(WaitForLooks());
  EXPECT_THAT(neutron_.ports(), SizeIs(8));
}

TEST_F(OrphanTest, PodWithOneActivePortKeepsAllItsPorts) {
  neutron_.SetActive(neutron_.Add(PortFor(Pod("a"))).id);
  (void)neutron_.Add(PortFor(Pod("a")));

  backend_->EndAdoption();

  EXPECT_TRUE(WaitForLooks());
  EXPECT_THAT(neutron_.ports(), SizeIs(2));
}

TEST_F(OrphanTest, PodsThatAreAdoptedOrPlannedAreNotAskedAbout) {
  const Vifs vifs = Written(Reserve(Pod("a")));
  Start();
  backend_->Adopt(Pod("a"), vifs);
  (void)Reserve(Pod("b"));

  backend_->EndAdoption();

  EXPECT_TRUE(WaitForLooks());
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(neutron_.ports(), SizeIs(2));
}

TEST_F(OrphanTest, WithoutAnIntervalNothingIsSwept) {
  defaults_.orphan_interval = std::chrono::seconds(0);
  Start();
  (void)neutron_.Add(PortFor(Pod("a")));

  backend_->EndAdoption();

  EXPECT_EQ(neutron_.CountOf("ListPorts"), 0U);
}

TEST_F(OrphanTest, PoolTakesThePort) {
  defaults_.pool = {.enabled = true};
  defaults_.security_groups = {"group-a"};
  Start();
  const std::string id = neutron_.Add(PortFor(Pod("a"))).id;

  backend_->EndAdoption();

  EXPECT_TRUE(neutron_.WaitUntil([&](const auto& ports) {
    return ports.size() == 1 && ports[0].id == id && ports[0].name == kReadyName &&
           ports[0].device_id.empty();
  }));
}

}  // namespace
}  // namespace kuryr::controller::neutron
