#include "cni/doctor/doctor.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "cni/doctor/api_checks.h"
#include "cni/doctor/kernel_checks.h"
#include "cni/doctor/node_checks.h"
#include "cni/doctor/ovs_checks.h"
#include "config/unknown_options.h"

namespace kuryr::cni::doctor {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kOvsTime = 5s;
constexpr auto kApiTime = 5s;
constexpr size_t kMostText = 1000;
constexpr const char* kConf = "kuryr.conf";

void Append(Findings& findings, Findings more) {
  std::move(more.begin(), more.end(), std::back_inserter(findings));
}

/// The findings of `check`. An exception becomes a finding.
template <typename Check>
Findings Try(const std::string& subject, const Check& check) {
  try {
    return check();
  } catch (const std::exception& e) {
    return {{subject, Verdict::kBad, e.what(), "the message names what to look at"}};
  }
}

/// Said when the agent is ready: it reaches the API server with an identity of its own.
constexpr const char* kAgentHasOne =
    "none is needed: kuryr-daemon has one. Its own rights: run doctor in its container";
/// Said for a standalone network.
constexpr const char* kOwnBridge =
    "none is needed, if the network configuration has another bridge";
constexpr const char* kNoApiServer = "none is needed: the network configuration asks none";

Findings Forgiven(Findings findings, const char* why) {
  for (Finding& finding : findings) {
    if (finding.verdict != Verdict::kBad) continue;
    finding.verdict = Verdict::kUnknown;
    finding.mend = why;
  }
  return findings;
}

const char* NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "ok";
    case Verdict::kBad:
      return "failed";
    case Verdict::kUnknown:
      break;
  }
  return "unknown";
}

ptrdiff_t Count(const Findings& findings, Verdict verdict) {
  return std::count_if(findings.begin(), findings.end(),
                       [&](const Finding& finding) { return finding.verdict == verdict; });
}

/// The first fault comes first in a user's work, too: checks stand in the order in which an ADD
/// needs what they check.
std::string Summary(const Findings& findings) {
  const ptrdiff_t unknown = Count(findings, Verdict::kUnknown);
  const std::string unchecked =
      unknown == 0 ? ""
                   : "; " + std::to_string(unknown) + " could not be checked, or may not matter";
  const auto first = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.verdict == Verdict::kBad;
  });
  if (first == findings.end()) return "no fault found" + unchecked;
  const ptrdiff_t failed = Count(findings, Verdict::kBad);
  return std::to_string(failed) + (failed == 1 ? " fault" : " faults") + unchecked +
         ". Begin with " + first->subject + ", then run doctor again";
}

constexpr const char* kPlain = "\x1b[0m";

std::string ColourOf(Verdict verdict) {
  constexpr const char* kGreen = "\x1b[32m";
  constexpr const char* kRed = "\x1b[31m";
  constexpr const char* kYellow = "\x1b[33m";
  return verdict == Verdict::kGood ? kGreen : verdict == Verdict::kBad ? kRed : kYellow;
}

const char* MarkOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "✓";
    case Verdict::kBad:
      return "✗";
    case Verdict::kUnknown:
      break;
  }
  return "?";
}

Findings CheckConfigFiles(const std::vector<std::string>& names, const ConfigFiles& files) {
  Findings findings;
  for (const std::string& unknown : FindUnknownOptions(files))
    findings.push_back({kConf, Verdict::kBad, unknown, "correct the name, or remove the line"});
  if (!findings.empty()) return findings;
  if (names.empty() && !std::filesystem::exists(kDefaultConfigFile)) {
    return {{kConf, Verdict::kUnknown,
             std::string("there is no ") + kDefaultConfigFile + ": all options have their defaults",
             "if this node should have one, kuryr-cni install --config-file FILE puts it there"}};
  }
  return {{kConf, Verdict::kGood, "can be read, and contains no unknown option", ""}};
}

}  // namespace

Findings Examine(const std::vector<std::string>& config_files, const RuntimeFolders& folders) {
  Config config;
  Findings findings;
  try {
    const ConfigFiles files(config_files);
    config = LoadConfig(files, [](const char* name) { return std::getenv(name); });
    findings = CheckConfigFiles(config_files, files);
  } catch (const std::exception& e) {
    return {{kConf, Verdict::kBad, e.what(), "fix the option that is named"}};
  }
  config.api.connect_timeout = config.api.read_timeout = kApiTime;
  Append(findings, Try("kernel", [&] { return CheckKernel(config); }));
  const Runtime runtime = CheckRuntime(folders);
  const Findings ovs =
      Try("Open vSwitch", [&] { return CheckOvs(config, Deadline::After(kOvsTime)); });
  Append(findings, runtime.is_standalone ? Forgiven(ovs, kOwnBridge) : ovs);
  Append(findings, runtime.findings);
  const Finding agent = CheckAgent(config);
  findings.push_back(agent);
  Append(findings, Try("node network", [&] { return CheckNodeNetwork(config); }));
  const Findings api = Try("API server", [&] { return CheckApi(config); });
  const bool served = HasAgent(config) && agent.verdict == Verdict::kGood;
  const char* forgiven = served ? kAgentHasOne : runtime.is_standalone ? kNoApiServer : nullptr;
  Append(findings, forgiven != nullptr ? Forgiven(api, forgiven) : api);
  return findings;
}

std::string ToJson(const Findings& findings) {
  json all = json::array();
  for (const Finding& finding : findings) {
    all.push_back({{"check", finding.subject},
                   {"status", NameOf(finding.verdict)},
                   {"message", Printable(finding.found, kMostText)},
                   {"remedy", finding.mend}});
  }
  const json answer = {{"checks", all},
                       {"failed", Count(findings, Verdict::kBad)},
                       {"unknown", Count(findings, Verdict::kUnknown)},
                       {"summary", Summary(findings)}};
  return answer.dump(2) + "\n";
}

std::string ToText(const Findings& findings, bool is_coloured) {
  std::string text;
  for (const Finding& finding : findings) {
    const std::string mark = MarkOf(finding.verdict);
    text += (is_coloured ? ColourOf(finding.verdict) + mark + kPlain : mark) + " " +
            finding.subject + ": " + Printable(finding.found, kMostText) + "\n";
    if (!finding.mend.empty()) text += "    " + finding.mend + "\n";
  }
  return text + Summary(findings) + "\n";
}

bool IsHealthy(const Findings& findings) { return Count(findings, Verdict::kBad) == 0; }

}  // namespace kuryr::cni::doctor
