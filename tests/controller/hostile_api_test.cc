// The program kuryr-controller at a stand-in for the API server that answers with much, with wrong
// types, or without end. Its memory is measured, and then the stand-in becomes honest.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <semaphore>
#include <set>
#include <string>
#include <string_view>

#include "base/thread_annotations.h"
#include "tests/bench/process_usage.h"
#include "tests/fake_apiserver/server.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace kuryr::test {
namespace {

using fake::Connection;

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

std::string Chunk(std::string_view text) {
  std::string size(16, '\0');
  size.resize(static_cast<size_t>(
      std::snprintf(size.data(), size.size(), "%zx\r\n", text.size())));  // NOLINT
  return size.append(text).append("\r\n");
}

/// The value of a query's key; empty: it is not there.
std::string QueryValue(const std::string& target, const std::string& key) {
  const size_t begin = target.find(key + "=");
  if (begin == std::string::npos) return "";
  const size_t value = begin + key.size() + 1;
  return target.substr(value, target.find('&', value) - value);
}

/// Answers as an API server with one node and no other objects. The test answers lists and watches
/// of pods, as long as it wants.
class StandIn {
 public:
  /// Answers a list or a watch of pods. False: the connection closes.
  using Answer = std::function<bool(Connection& connection, const std::string& target)>;

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
    return changed_.wait_for(mutex_, std::chrono::minutes(10),
                             [&]() REQUIRES(mutex_) { return planned_.contains(pod); });
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_.port());
  }

  static bool Say(Connection& connection, const std::string& body) {
    return connection.Write(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  /// The head of an answer whose body has no end yet.
  static bool Begin(Connection& connection) {
    return connection.Write(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  static std::string List(const std::string& kind, const std::string& items,
                          const std::string& metadata = "") {
    return R"({"kind":")" + kind + R"(List","apiVersion":"v1","metadata":{"resourceVersion":"7")" +
           metadata + R"(},"items":[)" + items + "]}";
  }
  /// An honest answer, with this pod.
  static Answer Honest(std::string pod) {
    return [pod = std::move(pod)](Connection& connection, const std::string& target) {
      if (target.find("watch=") == std::string::npos) return Say(connection, List("Pod", pod));
      const std::string event = R"({"type":"ADDED","object":)" + pod + "}\n";
      if (Begin(connection) && connection.Write(Chunk(event))) connection.WaitForClose();
      return false;
    };
  }

 private:
  void Serve(Connection& connection) EXCLUDES(mutex_) {
    while (true) {
      std::string& input = connection.input();
      size_t head = std::string::npos;
      while ((head = input.find("\r\n\r\n")) == std::string::npos) {
        if (!connection.ReadMore()) return;
      }
      const size_t length = input.find("Content-Length: ");
      const size_t body =
          length < head ? std::strtoul(input.c_str() + length + 16, nullptr, 10) : 0;
      while (input.size() < head + 4 + body) {
        if (!connection.ReadMore()) return;
      }
      const size_t space = input.find(' ');
      const std::string method = input.substr(0, space);
      const std::string target = input.substr(space + 1, input.find(' ', space + 1) - space - 1);
      input.erase(0, head + 4 + body);
      if (!Reply(connection, method, target)) return;
    }
  }

  [[nodiscard]] bool Reply(Connection& connection, const std::string& method,
                           const std::string& target) EXCLUDES(mutex_) {
    const std::string path = target.substr(0, target.find('?'));
    if (method == "PATCH") {
      const std::string name = path.substr(path.rfind('/') + 1);
      Note([&]() REQUIRES(mutex_) { planned_.insert(name); });
      return Say(connection, PodText(name, false));
    }
    if (path == "/api/v1/pods") {
      const bool open = Current()(connection, target);
      Note([&]() REQUIRES(mutex_) { ++answered_; });
      return open;
    }
    if (method != "GET") return Say(connection, R"({"kind":"Status","apiVersion":"v1"})");
    if (target.find("watch=") != std::string::npos) {
      if (Begin(connection)) connection.WaitForClose();
      return false;
    }
    const bool is_node = path.starts_with("/api/v1/nodes/");
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
  static bool IsWatch(const std::string& target) {
    return target.find("watch=") != std::string::npos;
  }
  /// Says `head`, and then `text` again and again until there is a gibibyte.
  static bool SayGibibyte(Connection& connection, const std::string& head,
                          const std::string& text) {
    std::string much = head;
    while (much.size() < kMebibyte) much += text;
    const std::string chunk = Chunk(std::string_view(much).substr(head.size()));
    bool open = StandIn::Begin(connection) && connection.Write(Chunk(head));
    for (size_t said = 0; open && said < kGibibyte; said += kMebibyte)
      open = connection.Write(chunk);
    return false;
  }

  const std::string conf_ = ::testing::TempDir() + "kuryr-hostile-" + std::to_string(::getpid());
  StandIn api_;
};

TEST_F(HostileApiTest, AGibibyteOfPodsIsNotRead) {
  const std::string pod = PodText("many", true) + ",";
  Survive(
      [&](Connection& connection, const std::string& /*target*/) {
        return SayGibibyte(connection, R"({"kind":"PodList","apiVersion":"v1","items":[)", pod);
      },
      2);
}

TEST_F(HostileApiTest, AGibibyteOfEmptyThingsIsNotMade) {
  Survive(
      [&](Connection& connection, const std::string& /*target*/) {
        return SayGibibyte(connection, R"({"kind":"PodList","items":[)", "[],");
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
             const std::string& /*target*/) { return StandIn::Say(connection, GetParam().body); },
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
      [](Connection& connection, const std::string& target) {
        if (!IsWatch(target)) return StandIn::Say(connection, StandIn::List("Pod", ""));
        return SayGibibyte(connection, R"({"type":"ADDED","object":{"kind":")", "x");
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
  api_.AnswerPodsBy([&](Connection& connection, const std::string& target) {
    if (IsWatch(target)) {
      if (!StandIn::Begin(connection)) return false;
      if (watches++ == 0) {
        return connection.Write(Chunk(R"({"type":"ERROR","object":{"kind":"Status","code":410}})"
                                      "\n"));
      }
      watched_again.release();
      connection.WaitForClose();
      return false;
    }
    const size_t first = std::strtoul(QueryValue(target, "continue").c_str(), nullptr, 10);
    const size_t limit = std::strtoul(QueryValue(target, "limit").c_str(), nullptr, 10);
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
  EXPECT_TRUE(watched_again.try_acquire_for(std::chrono::minutes(10)));
  const ProcessUsage usage(controller.id());
  std::printf("[  FIGURES ] %zu pods: at most %ld MiB, %.1f s of a processor\n", count,
              usage.peak_kib >> 10, usage.cpu_ms / 1000);
}

}  // namespace
}  // namespace kuryr::test
