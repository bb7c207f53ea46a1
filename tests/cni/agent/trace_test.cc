#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/cni/agent/agent_fixture.h"

// Which call a line of the log belongs to.

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using LogLines = std::vector<std::string>;

const std::string kId = "4bf92f3577b34da6a3ce929d0e0e4736";

LogLines LinesOf(const std::string& log) {
  LogLines lines;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Those of the log that have `text`.
LogLines LinesWith(const std::string& text, const std::string& log) {
  LogLines lines = LinesOf(log);
  std::erase_if(lines, [&](const std::string& line) { return line.find(text) == line.npos; });
  return lines;
}

/// The field as every line has it; fails the test when some has none or another one.
std::string TraceOf(const LogLines& lines) {
  std::smatch match;
  if (lines.empty() ||
      !std::regex_search(lines.front(), match, std::regex(" trace_id=[0-9a-f]{32}$"))) {
    ADD_FAILURE() << "no trace id in " << ::testing::PrintToString(lines);
    return {};
  }
  EXPECT_THAT(lines, Each(::testing::EndsWith(match.str())));
  return match.str();
}

class TraceTest : public AgentTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    WriteConfig(DefaultKubernetes(), "[DEFAULT]\ndebug = True\n");
    StartAgent();
    ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
  }
  /// One whose plugging is logged: a route that the kernel has made with the address.
  [[nodiscard]] json LoggedVif(const TestPod& pod) const {
    const auto data = [](json& object) -> json& { return object["versioned_object.data"]; };
    const json route = {{"versioned_object.name", "Route"},
                        {"versioned_object.namespace", "os_vif"},
                        {"versioned_object.version", "1.0"},
                        {"versioned_object.data", {{"cidr", "10.10.0.0/16"}}}};
    json vif = Vif(pod, true);
    json& subnet = data(data(data(vif)["network"])["subnets"])["objects"][0];
    data(data(subnet)["routes"])["objects"] = json::array({route});
    return vif;
  }
};

TEST_F(TraceTest, OneIdLeadsFromThePluginToTheAgent) {
  const TestPod pod = ActivePod("nginx");

  const ProcessResult add = Run("ADD", pod);
  const ProcessResult del = Run("DEL", pod);

  const std::string id = TraceOf(LinesOf(add.err));
  EXPECT_NE(id, TraceOf(LinesOf(del.err)));
  const LogLines calls = LinesWith("msg=call ", EndAgent());
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_THAT(calls[0], AllOf(HasSubstr("command=ADD"), HasSubstr(pod.container_id)));
  EXPECT_EQ(TraceOf({calls[0]}), id);
  EXPECT_EQ(TraceOf({calls[1]}), TraceOf(LinesOf(del.err)));
}

TEST_F(TraceTest, TheThreadThatPlugsForAWaitingAddHasItsId) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  Annotate(pod, LoggedVif(pod));

  const ProcessResult result = add.Wait();
  EXPECT_EQ(result.status, 0) << result.out;
  const LogLines plugging = LinesWith("route exists already", EndAgent());
  EXPECT_THAT(plugging, SizeIs(1));
  EXPECT_EQ(TraceOf(plugging), TraceOf(LinesOf(result.err)));
}

TEST_F(TraceTest, WhatIsWrittenLaterHasTheIdOfItsCall) {
  api_->SetUsers({{.name = "kuryr", .token = kToken, .verbs = {"get", "list", "watch"}}});
  const TestPod pod = MakePod("nginx");
  AnnotateText(pod, "{");

  const ProcessResult add = Run("ADD", pod);

  EXPECT_EQ(add.status, 1);
  agent_->WaitForOutput("not told to the API server");
  const LogLines told = LinesWith("not told to the API server", EndAgent());
  EXPECT_EQ(TraceOf(told), TraceOf(LinesOf(add.err)));
}

TEST_F(TraceTest, TheRuntimesTraceIsTaken) {
  const TestPod pod = ActivePod("nginx");

  const ProcessResult add =
      Run("ADD", pod, {{"TRACEPARENT", "00-" + kId + "-00f067aa0ba902b7-01"}});

  EXPECT_EQ(TraceOf(LinesOf(add.err)), " trace_id=" + kId);
  EXPECT_EQ(TraceOf(LinesWith("msg=call ", EndAgent())), " trace_id=" + kId);
}

TEST_F(TraceTest, AMalformedTraceparentIsPassedOver) {
  const TestPod pod = MakePod("nginx");
  for (const std::string& text :
       {std::string("x"), "00-" + kId, "00-" + kId + "-00f067aa0ba902b7-01\nlevel=error",
        "00-" + std::string(32, '0') + "-00f067aa0ba902b7-01", std::string(100'000, '0')}) {
    const ProcessResult del = Run("DEL", pod, {{"TRACEPARENT", text}});

    EXPECT_EQ(del.status, 0) << del.out;
    EXPECT_NE(TraceOf(LinesOf(del.err)), " trace_id=" + kId);
  }
}

class LonePluginTraceTest : public PluginTest {};

TEST_F(LonePluginTraceTest, EveryThreadsLinesHaveOneId) {
  WriteConfig(DefaultKubernetes(), "[DEFAULT]\ndebug = True\n");
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  // The pod's and its KuryrPort's.
  ASSERT_TRUE(api_->WaitForWatches(2));
  api_->SendToWatches("no event\n");
  Annotate(pod, Vif(pod, true));

  const ProcessResult result = add.Wait();

  EXPECT_EQ(result.status, 0) << result.out;
  const LogLines lines = LinesOf(result.err);
  EXPECT_THAT(lines, Contains(HasSubstr("call begins")));
  EXPECT_THAT(LinesWith("watch line skipped", result.err), SizeIs(2));
  TraceOf(lines);
}

}  // namespace
}  // namespace kuryr::test
