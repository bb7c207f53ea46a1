#include "kubelet/pod_resources.h"

#include <atomic>
#include <system_error>

#include "base/event_fd.h"
#include "kubelet/methods.h"
#include "kubelet/podresources.pb.h"
#include "tests/kubelet/kubelet_fixture.h"
#include "tests/kubelet/raw_peer.h"

namespace kuryr::kubelet {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const PodName kPod = {.name_space = "default", .name = "web"};

// Bytes of Protobuf, for fields that the project's messages lack; their numbers are below 16.
std::string Base128(size_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}
std::string Text(int field, const std::string& text) {
  return static_cast<char>(field << 3 | 2) + Base128(text.size()) + text;
}
std::string Integer(int field, size_t value) {
  return static_cast<char>(field << 3) + Base128(value);
}

/// Kubelets of several ages.
class PodResourcesTest : public KubeletTest {
 protected:
  PodResourcesTest() { std::filesystem::create_directories(folder_ / "pod-resources"); }

  [[nodiscard]] std::string kubelet_socket() const {
    return folder_ / "pod-resources/kubelet.sock";
  }
  static v1::PodResources Pod(const PodName& name, const std::string& device) {
    v1::PodResources pod;
    pod.set_name(name.name);
    pod.set_namespace_(name.name_space);
    auto& devices = *pod.add_containers()->add_devices();
    devices.set_resource_name("intel.com/a");
    devices.add_device_ids(device);
    return pod;
  }
  static UnaryHandler Get(const v1::PodResources& pod) {
    return [pod](const std::string&) {
      v1::GetPodResourcesResponse answer;
      *answer.mutable_pod_resources() = pod;
      return answer.SerializeAsString();
    };
  }
  static UnaryHandler List(const std::vector<v1::PodResources>& pods) {
    v1::ListPodResourcesResponse answer;
    for (const v1::PodResources& pod : pods) *answer.add_pod_resources() = pod;
    return [bytes = answer.SerializeAsString()](const std::string&) { return bytes; };
  }
  static UnaryHandler Refuse(StatusCode code, const std::string& message) {
    return [=](const std::string&) -> std::string { throw CallError({code, message}); };
  }
  /// The pod's devices of intel.com/a, or the error.
  [[nodiscard]] std::string Asked(const Deadline& deadline = Soon()) const {
    try {
      const auto devices = PodResources(folder_).DevicesOf(kPod, deadline);
      if (!devices) return "unknown";
      std::string all;
      for (const std::string& id : devices->at("intel.com/a")) all += id + " ";
      return all;
    } catch (const KubeletError& e) {
      return e.what();
    }
  }
};

TEST_F(PodResourcesTest, GetIsAskedFirst) {
  const RunningServer kubelet(kubelet_socket(),
                              {.unary = {{kGetPodResources, Get(Pod(kPod, "got"))},
                                         {kListPodResources, List({Pod(kPod, "listed")})}}});

  EXPECT_EQ(Asked(), "got ");
}

TEST_F(PodResourcesTest, ListIsAskedWhereGetIsNotThereOrSwitchedOff) {
  for (const UnaryHandler& get :
       {UnaryHandler(), Refuse(StatusCode::kUnknown, "PodResources API Get method disabled")}) {
    Methods methods{.unary = {{kListPodResources, List({Pod(kPod, "listed")})}}};
    if (get) methods.unary[kGetPodResources] = get;
    const RunningServer kubelet(kubelet_socket(), methods);

    EXPECT_EQ(Asked(), "listed ");
  }
}

TEST_F(PodResourcesTest, TheOldestListIsAskedLast) {
  const RunningServer kubelet(kubelet_socket(),
                              {.unary = {{kListPodResourcesAlpha, List({Pod(kPod, "old")})}}});

  EXPECT_EQ(Asked(), "old ");
}

TEST_F(PodResourcesTest, AllPodsAreListedByTheOldestListToo) {
  for (const char* method : {kListPodResources, kListPodResourcesAlpha}) {
    const RunningServer kubelet(
        kubelet_socket(), {.unary = {{method, List({Pod(kPod, "a"), Pod({"other", "db"}, "b")})}}});

    std::string all;
    for (const ListedPod& pod : PodResources(folder_).List(Soon()))
      all += pod.name.ToString() + " " + *pod.devices.at("intel.com/a").begin() + " ";

    EXPECT_EQ(all, "default/web a other/db b ") << method;
  }
}

/// Describes a pod as kubelets since these versions do, with each new field.
TEST_F(PodResourcesTest, WhatLaterKubeletsSayBesidesChangesNothing) {
  const std::string numa_nodes = Text(1, Integer(1, 1));
  const std::string memory = Text(1, "hugepages-2Mi") + Integer(2, 64) + Text(3, numa_nodes);
  const std::string claim = Text(1, "gpu") + Text(2, "claim") + Text(3, "default");
  const std::string cdi = Text(1, Text(1, "example.com/gpu=0"));
  const std::string named = Text(2, "gpu.example.com") + Text(3, "pool") + Text(4, "gpu-0");
  const std::string ids = Text(1, "intel.com/a") + Text(2, "one") + Text(2, "two");
  const std::string of_1_20 = Text(1, "main") + Text(2, ids);
  const std::string of_1_21 = Text(1, "main") + Text(2, ids + Text(3, numa_nodes)) + Integer(3, 4);
  const std::string of_1_22 = of_1_21 + Text(4, memory);
  const std::string of_1_27 = of_1_22 + Text(5, claim + Text(4, cdi));
  const std::string of_1_31 = of_1_22 + Text(5, claim + Text(4, cdi + named));
  const std::string pod = Text(1, "web") + Text(2, "default");

  for (const std::string& described :
       {pod + Text(3, of_1_20), pod + Text(3, of_1_21), pod + Text(3, of_1_22),
        pod + Text(3, of_1_27), pod + Text(3, of_1_31),
        pod + Text(3, of_1_31) + Integer(4, 4) + Text(5, memory)}) {
    const auto answer = [&](const std::string&) { return Text(1, described); };
    for (const char* method : {kGetPodResources, kListPodResources, kListPodResourcesAlpha}) {
      const RunningServer kubelet(kubelet_socket(), {.unary = {{method, answer}}});

      EXPECT_EQ(Asked(), "one two ") << method;
    }
  }
}

TEST_F(PodResourcesTest, WhoIsRefusedForAskingTooOftenAsksAgain) {
  std::atomic<int> times = 0;
  const UnaryHandler busy = [&, got = Get(Pod(kPod, "got"))](const std::string& request) {
    if (++times < 4) throw CallError({StatusCode::kResourceExhausted, "rejected by rate limit"});
    return got(request);
  };
  const RunningServer kubelet(kubelet_socket(), {.unary = {{kGetPodResources, busy}}});

  EXPECT_EQ(Asked(), "got ");
  EXPECT_EQ(times, 4);
}

TEST_F(PodResourcesTest, AskingAgainEndsWithTheCall) {
  const EventFd cancel;
  const UnaryHandler busy = [&](const std::string&) -> std::string {
    cancel.Set();
    throw CallError({StatusCode::kResourceExhausted, "rejected by rate limit"});
  };
  const RunningServer kubelet(kubelet_socket(), {.unary = {{kGetPodResources, busy}}});
  Deadline deadline = Soon();
  deadline.cancel_fd = cancel.fd();

  try {
    (void)Asked(deadline);
    ADD_FAILURE();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::operation_canceled);
  }
}

TEST_F(PodResourcesTest, AnotherShortageIsToldAtOnce) {
  std::atomic<int> times = 0;
  const UnaryHandler short_of_memory = [&](const std::string&) -> std::string {
    ++times;
    throw CallError({StatusCode::kResourceExhausted, "no memory"});
  };
  const RunningServer kubelet(kubelet_socket(), {.unary = {{kGetPodResources, short_of_memory}}});

  EXPECT_THAT(Asked(), HasSubstr("RESOURCE_EXHAUSTED: no memory"));
  EXPECT_EQ(times, 1);
}

TEST_F(PodResourcesTest, APodHasANamespaceAndAName) {
  const std::vector<v1::PodResources> others = {Pod({"other", "web"}, "1"),
                                                Pod({"default", "web2"}, "2")};
  {
    const RunningServer kubelet(kubelet_socket(), {.unary = {{kListPodResources, List(others)}}});
    EXPECT_EQ(Asked(), "unknown");
  }
  const RunningServer kubelet(kubelet_socket(), {.unary = {{kGetPodResources, Get(others[0])},
                                                           {kListPodResources, List({})}}});
  EXPECT_EQ(Asked(), "unknown");
}

TEST_F(PodResourcesTest, TheDevicesOfAllContainersAreThePods) {
  v1::PodResources pod = Pod(kPod, "b");
  pod.MergeFrom(Pod(kPod, "a"));
  pod.add_containers()->add_devices()->set_resource_name("intel.com/none");
  const RunningServer kubelet(kubelet_socket(), {.unary = {{kGetPodResources, Get(pod)}}});

  const auto devices = PodResources(folder_).DevicesOf(kPod, Soon());

  EXPECT_THAT(*devices, ElementsAre(Pair("intel.com/a", ElementsAre("a", "b")),
                                    Pair("intel.com/none", ElementsAre())));
}

TEST_F(PodResourcesTest, AListOfSeveralMegabytesIsRead) {
  std::vector<v1::PodResources> pods(5000, Pod({"other", "web"}, std::string(1000, 'x')));
  pods.push_back(Pod(kPod, "last"));
  const RunningServer kubelet(kubelet_socket(), {.unary = {{kListPodResources, List(pods)}}});

  EXPECT_EQ(Asked(), "last ");
}

TEST_F(PodResourcesTest, WhatFailsNamesTheSocketAndAWayOut) {
  EXPECT_THAT(Asked(), AllOf(HasSubstr("devices of pod default/web"), HasSubstr(kubelet_socket()),
                             HasSubstr("No such file"), HasSubstr("[devices] kubelet_dir")));
  {
    const RunningServer kubelet(
        kubelet_socket(),
        {.unary = {{kListPodResources, Refuse(StatusCode::kInternal, "no cpus")}}});
    EXPECT_THAT(Asked(), AllOf(HasSubstr(kubelet_socket()), HasSubstr("INTERNAL: no cpus")));
  }
  {
    const RunningServer kubelet(
        kubelet_socket(),
        {.unary = {{kListPodResources, [](const auto&) { return std::string("\xff"); }}}});
    EXPECT_THAT(Asked(), HasSubstr("INTERNAL: no protobuf message"));
  }
  const RawServer silent(kubelet_socket(), "");
  EXPECT_THAT(Asked(Deadline::After(50ms)), HasSubstr("DEADLINE_EXCEEDED"));
}

}  // namespace
}  // namespace kuryr::kubelet
