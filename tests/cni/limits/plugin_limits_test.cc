#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cni/limits/sanitizer.h"
#include "tests/cni/plugin/plugin_fixture.h"

// kuryr-cni where it may open a few files only.

namespace kuryr::test {
namespace {

using nlohmann::json;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class PluginLimitsTest : public PluginTest {
 protected:
  [[nodiscard]] Command With(int descriptors, Command command) const {
    command.argv.insert(command.argv.begin(),
                        {"prlimit", "--nofile=" + std::to_string(descriptors)});
    return command;
  }
  /// The fewest with which the program starts. A sanitizer needs some itself.
  [[nodiscard]] int Fewest(const TestPod& pod) const {
    int descriptors = 3;
    while (RunProgram(With(descriptors, Call("VERSION", pod))).status != 0) ++descriptors;
    return descriptors;
  }
  [[nodiscard]] size_t Watches() const {
    const auto requests = api_->Requests();
    return static_cast<size_t>(
        std::count_if(requests.begin(), requests.end(), [](const fake::LoggedRequest& request) {
          return request.verb == "watch" && request.path.starts_with(kPods);
        }));
  }
  [[nodiscard]] static bool HasAnswer(const ProcessResult& add) {
    if (add.status == 0) return true;
    const json error = json::parse(add.out, nullptr, false);
    return add.status == 1 && error.is_object() && error.contains("code");
  }
};

TEST_F(PluginLimitsTest, WithAnyNumberAnAddIsAnsweredAndNothingIsLeft) {
  SKIP_WHERE_CHECKS_OPEN_DESCRIPTORS();
  // An API server that it cannot connect to is tried again until then.
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 2\n");
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  bool succeeded = false;
  for (int descriptors = Fewest(pod); !succeeded; ++descriptors) {
    ASSERT_LT(descriptors, 60) << "no ADD has succeeded";

    const ProcessResult add = RunProgram(With(descriptors, Call("ADD", pod)));

    succeeded = add.status == 0;
    EXPECT_TRUE(HasAnswer(add)) << descriptors << ": " << add.status << add.out << add.err;
    EXPECT_EQ(Run("DEL", pod).status, 0) << descriptors;
    ExpectNothingLeft();
  }
}

TEST_F(PluginLimitsTest, WithAnyNumberAnAddThatWaitsKeepsItsDeadlineAndEndsBySignal) {
  SKIP_WHERE_CHECKS_OPEN_DESCRIPTORS();
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 2\n");
  const TestPod pod = MakePod("nginx");
  int descriptors = Fewest(pod);
  for (bool waits = false; !waits; ++descriptors) {
    ASSERT_LT(descriptors, 60) << "no ADD has come to its wait";

    const ProcessResult add = RunProgram(With(descriptors, Call("ADD", pod)));

    EXPECT_TRUE(HasAnswer(add)) << descriptors << ": " << add.status << add.out << add.err;
    waits = add.out.find("annotation") != std::string::npos;
  }
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 600\n");
  const size_t before = Watches();
  Process add(With(descriptors - 1, Call("ADD", pod)));
  ASSERT_TRUE(api_->WaitForRequest("watch", kPods, before + 1));

  add.Signal(SIGTERM);

  EXPECT_EQ(add.Wait().status, 1);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace kuryr::test
