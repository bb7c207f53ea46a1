#include "service/report.h"

#include <sys/utsname.h>

#include <chrono>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "base/error.h"
#include "config/shown_options.h"
#include "service/command_line.h"
#include "service/health_client.h"
#include "service/table.h"

namespace kuryr::service {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kAnswerTime{8};
constexpr size_t kMostError = 2000;

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[sizeof "2026-01-01T00:00:00Z"];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, size};
}

std::string Kernel() {
  utsname names{};
  if (::uname(&names) != 0) ThrowErrno("uname");
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

json AnswerAt(const ProgramOptions& program, const std::string& path) {
  const auto answer = AskHealth(program, path, kAnswerTime);
  if (!answer) throw std::runtime_error("no program answers at its port or socket");
  return LinesOf(answer->text);
}

/// Errors and states repeat addresses of kuryr.conf.
void HideUsers(json& part) {
  if (part.is_string()) part = WithoutUsers(part.get<std::string>());
  if (!part.is_structured()) return;
  for (json& each : part) HideUsers(each);
}

/// False for a part with an error.
bool AddTo(json& report, const ReportPart& part) {
  try {
    report[part.name] = part.make();
    return true;
  } catch (const std::exception& e) {
    report[part.name] = {{"error", Printable(e.what(), kMostError)}};
    return false;
  }
}

}  // namespace

json LinesOf(const std::string& text) {
  json lines = json::array();
  std::istringstream rest(text);
  for (std::string line; std::getline(rest, line);) lines.push_back(line);
  return lines;
}

std::vector<ReportPart> HealthParts(const std::function<ProgramOptions()>& read) {
  std::vector<ReportPart> parts;
  for (const char* path : {"alive", "ready", "metrics"})
    parts.push_back({path, [read, path] { return AnswerAt(read(), std::string("/") + path); }});
  return parts;
}

int PrintReport(const std::string& program, const std::vector<std::string>& config_files,
                const std::vector<ReportPart>& parts) {
  json report = {{"program", program}, {"version", KURYR_VERSION}, {"time", Now()}};
  std::vector<ReportPart> all = {
      {"kernel", Kernel}, {"kuryr_conf", [&] { return ShownOptions(ConfigFiles(config_files)); }}};
  all.insert(all.end(), parts.begin(), parts.end());
  bool is_whole = true;
  for (const ReportPart& part : all) is_whole = AddTo(report, part) && is_whole;
  HideUsers(report);
  PrintJson(report);
  return is_whole ? 0 : kUnwell;
}

}  // namespace kuryr::service
