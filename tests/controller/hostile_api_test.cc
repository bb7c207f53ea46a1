// The program kuryr-controller at a stand-in for the API server that answers with much, with wrong
// types, or without end. Its memory is measured, and then the stand-in becomes honest.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <semaphore>
#include <set>
#include <string>

#include "base/thread_annotations.h"
#include "tests/bench/process_usage.h"
#include "tests/fake_apiserver/http_message.h"
#include "tests/fake_apiserver/server.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace kuryr::test {
namespace {

using fake::Connection;
using fake::HttpRequest;

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr size_t kGibibyte = size_t{1} << 30;
/// AddressSanitizer keeps freed memory for a while, so its build gets more.
#if defined(__SANITIZE_ADDRESS__)
constexpr long kMostKib = 1536 << 10;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr long kMostKib = 1536 << 10;
#else
constexpr long kMostKib = 256 << 10;
#endif
#else
constexpr long kMostKib = 256 << 10;
#endif

/// A pod on node1. Only one without hostNetwork needs a plan.
std::string PodText(const std::string& name, bool host_network) {
  const std::string container =
      R"({"name":"c","image":"registry.example/team/service:1","resources":{"limits":{"memory":"64Mi"}},)"
      R"("volumeMounts":[{"name":"token","readOnly":true,"mountPath":"/var/run/secrets"}]})";
  std::string pod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"team","name":")";
  pod += name + R"(","uid":"uid-)" + name + R"(","resourceVersion":"7","labels":{"app":"service",)";
  pod += R"("pod-template-hash":"6d4cf56db6"}},"spec":{"nodeName":"node1","hostNetwork":)";
  pod += host_network ? "true" : "false";
  pod += R"(,"containers":[)" + container + R"(]},"status":{"phase":"Running","podIPs":[]}})";
  return pod;
}

/// Answers as an API server with one node and no other objects. The test answers lists and watches
/// of pods, as long as it wants.
class StandIn {
 public:
  /// Answers a list or a watch of pods. False: the connection closes.
  using Answer = std::function<bool(Connection& connection, const HttpRequest& request)>;

  void AnswerPodsBy(Answer answer) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    answer_ = std::move(answer);
  }
  /// Waits for so many more lists or watches that the test's function has answered.
  [[nodiscard]] bool AwaitAnswers(int count) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return changed_.wait_for(mutex_, std::chrono::minutes(5),
                             [&]() REQUIRES(mutex_) { return answered_ >= count; });
  }
  /// Waits for the plan of the pod.
  [[nodiscard]] bool AwaitPlan(const std::string& pod) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return changed_.wait_for(mutex_, std::chrono::minutes(30),
                             [&]() REQUIRES(mutex_) { return planned_.contains(pod); });
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_.port());
  }

  static bool Say(Connection& connection, const std::string& body) {
    return fake::WriteAnswer(connection, {.body = body}, true);
  }
  static bool IsWatch(const HttpRequest& request) { return !request.Query("watch").empty(); }
  static std::string List(const std::string& kind, const std::string& items,
                          const std::string& metadata = "") {
    return R"({"kind":")" + kind + R"(List","apiVersion":"v1","metadata":{"resourceVersion":"7")" +
           metadata + R"(},"items":[)" + items + "]}";
  }
  /// An honest answer, with this pod.
  static Answer Honest(std::string pod) {
    return [pod = std::move(pod)](Connection& connection, const HttpRequest& request) {
      if (!IsWatch(request)) return Say(connection, List("Pod", pod));
      const std::string event = R"({"type":"ADDED","object":)" + pod + "}\n";
      if (fake::WriteStreamHead(connection, true) && fake::WriteChunk(connection, event))
        connection.WaitForClose();
      return false;
    };
  }

 private:
  void Serve(Connection& connection) EXCLUDES(mutex_) {
    while (const auto request = fake::ReadRequest(connection)) {
      if (!Reply(connection, *request)) return;
    }
  }

  [[nodiscard]] bool Reply(Connection& connection, const HttpRequest& request) EXCLUDES(mutex_) {
    if (request.method == "PATCH") {
      const std::string name = request.path.substr(request.path.rfind('/') + 1);
      Note([&]() REQUIRES(mutex_) { planned_.insert(name); });
      return Say(connection, PodText(name, false));
    }
    if (request.path == "/api/v1/pods") {
      const bool open = Current()(connection, request);
      Note([&]() REQUIRES(mutex_) { ++answered_; });
      return open;
    }
    if (request.method != "GET") return Say(connection, R"({"kind":"Status","apiVersion":"v1"})");
    if (IsWatch(request)) {
      if (fake::WriteStreamHead(connection, true)) connection.WaitForClose();
      return false;
    }
    const bool is_node = request.path.starts_with("/api/v1/nodes/");
    const std::string node =
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node1","resourceVersion":"7"}})";
    return Say(connection, is_node ? node : List("Thing", ""));
  }

  [[nodiscard]] Answer Current() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return answer_;
  }
  void Note(const std::function<void()>& change) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    change();
    changed_.notify_all();
  }

  Mutex mutex_;
  std::condition_variable_any changed_;
  Answer answer_ GUARDED_BY(mutex_);
  int answered_ GUARDED_BY(mutex_) = 0;
  std::set<std::string> planned_ GUARDED_BY(mutex_);
  fake::Server server_{"127.0.0.1", 0, std::nullopt,
                       [this](Connection& connection) { Serve(connection); }};
};

class HostileApiTest : public ::testing::Test {
 protected:
  ~HostileApiTest() override { std::filesystem::remove(conf_); }

  [[nodiscard]] Process Start() {
    std::ofstream(conf_) << "[kubernetes]\napi_root = " << api_.url() << "\nvif_sink = podstate\n"
                         << "[controller]\nleader_elect = false\n[health_server]\nport = 0\n"
                         << "[pool:pods]\ncidr = 10.8.0.0/16\nnamespaces = *\n";
    return Process({.argv = {BinDir() + "/kuryr-controller", "--config-file", conf_}});
  }
  /// Has the stand-in answer `times` times by `answer`, and then honestly. The pod `next` has to be
  /// planned then, by a process of bounded memory.
  void Survive(const StandIn::Answer& answer, int times) {
    api_.AnswerPodsBy(answer);
    const Process controller = Start();
    ASSERT_TRUE(api_.AwaitAnswers(times));
    api_.AnswerPodsBy(StandIn::Honest(PodText("next", false)));
    EXPECT_TRUE(api_.AwaitPlan("next"));
    Measure(controller.id());
  }
  static void Measure(pid_t controller) {
    const ProcessUsage usage(controller);
    std::printf("[  FIGURES ] at most %ld MiB, %.1f s of a processor\n", usage.peak_kib >> 10,
                usage.cpu_ms / 1000);
    EXPECT_LT(usage.peak_kib, kMostKib);
  }
  /// Says `head`, and then `text` again and again until there are `bytes`.
  static bool SayMuch(Connection& connection, const std::string& head, const std::string& text,
                      size_t bytes = kGibibyte) {
    std::string much;
    while (much.size() < kMebibyte) much += text;
    bool open = fake::WriteStreamHead(connection, true) && fake::WriteChunk(connection, head);
    for (size_t said = 0; open && said < bytes; said += much.size())
      open = fake::WriteChunk(connection, much);
    return false;
  }

  const std::string conf_ = ::testing::TempDir() + "kuryr-hostile-" + std::to_string(::getpid());
  StandIn api_;
};

TEST_F(HostileApiTest, AGibibyteOfPodsIsNotRead) {
  const std::string pod = PodText("many", true) + ",";
  Survive(
      [&](Connection& connection, const HttpRequest& /*request*/) {
        return SayMuch(connection, R"({"kind":"PodList","apiVersion":"v1","items":[)", pod);
      },
      2);
}

TEST_F(HostileApiTest, AGibibyteOfEmptyThingsIsNotMade) {
  Survive(
      [&](Connection& connection, const HttpRequest& /*request*/) {
        return SayMuch(connection, R"({"kind":"PodList","items":[)", "[],");
      },
      2);
}

/// A list of pods of wrong types.
struct WrongList {
  const char* name;
  std::string body;
};

class WrongListTest : public HostileApiTest, public ::testing::WithParamInterface<WrongList> {};

TEST_P(WrongListTest, CostsLittle) {
  Survive([](Connection& connection,
             const HttpRequest& /*request*/) { return StandIn::Say(connection, GetParam().body); },
          2);
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongListTest,
    ::testing::Values(
        WrongList{"ItemsAreLists", StandIn::List("Pod", Repeated("[],", 250'000) + "7")},
        WrongList{"PodsHaveOtherTypes",
                  StandIn::List("Pod", Repeated(R"({"metadata":{"name":[]},"spec":7},)", 100'000) +
                                           R"({"metadata":"x"})")},
        WrongList{"ItemsAreNoList", R"({"kind":"PodList","metadata":[],"items":{"a":[]}})"},
        WrongList{"DeepLists", Repeated("[", 2'000'000)}),
    [](const auto& test) { return test.param.name; });

TEST_F(HostileApiTest, AnEndlessWatchLineIsNotRead) {
  Survive(
      [](Connection& connection, const HttpRequest& request) {
        if (!StandIn::IsWatch(request)) return StandIn::Say(connection, StandIn::List("Pod", ""));
        return SayMuch(connection, R"({"type":"ADDED","object":{"kind":")", "x", SIZE_MAX);
      },
      4);
}

/// Answers as the API server: a list with a limit has pages, and one of a certain version has all
/// pods. The first watch begins at a version that is gone.
TEST_F(HostileApiTest, HalfAMillionPodsArePagedAndNotRefused) {
  const char* asked = std::getenv("KURYR_LISTED_PODS");
  const size_t count = asked == nullptr ? 20'000 : std::strtoul(asked, nullptr, 10);
  const auto pods = [=](size_t first, size_t last) {
    std::string items;
    for (size_t i = first; i < last; ++i) {
      if (i > first) items += ',';
      items += PodText("pod-" + std::to_string(i), i + 1 < count);
    }
    return items;
  };
  std::atomic<int> watches = 0;
  std::binary_semaphore watched_again(0);
  api_.AnswerPodsBy([&](Connection& connection, const HttpRequest& request) {
    if (StandIn::IsWatch(request)) {
      if (!fake::WriteStreamHead(connection, true)) return false;
      if (watches++ == 0) {
        return fake::WriteChunk(connection,
                                R"({"type":"ERROR","object":{"kind":"Status","code":410}})"
                                "\n");
      }
      watched_again.release();
      connection.WaitForClose();
      return false;
    }
    const size_t first = std::strtoul(request.Query("continue").c_str(), nullptr, 10);
    const size_t limit = std::strtoul(request.Query("limit").c_str(), nullptr, 10);
    const size_t last = limit == 0 ? count : std::min(count, first + limit);
    std::string metadata;
    if (last < count) {
      metadata = R"(,"continue":")" + std::to_string(last) + R"(","remainingItemCount":)" +
                 std::to_string(count - last);
    }
    return StandIn::Say(connection, StandIn::List("Pod", pods(first, last), metadata));
  });

  const Process controller = Start();

  EXPECT_TRUE(api_.AwaitPlan("pod-" + std::to_string(count - 1)));
  EXPECT_TRUE(watched_again.try_acquire_for(std::chrono::minutes(30)));
  const ProcessUsage usage(controller.id());
  std::printf("[  FIGURES ] %zu pods: at most %ld MiB, %.1f s of a processor\n", count,
              usage.peak_kib >> 10, usage.cpu_ms / 1000);
}

}  // namespace
}  // namespace kuryr::test
