#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/thread_annotations.h"

namespace kuryr {
namespace {

std::atomic<LogLevel> threshold{LogLevel::kWarning};

thread_local LogContext context;

/// Made at the first line that is written: a program that logs nothing pays nothing.
struct Output {
  Mutex mutex;
  std::shared_ptr<spdlog::logger> logger GUARDED_BY(mutex);
};

Output& TheOutput() {
  static Output output;
  return output;
}

std::shared_ptr<spdlog::logger> MakeLogger(spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>("kuryr", std::move(sink));
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
  return logger;
}

bool IsPlain(char c) { return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\'; }

/// Escapes control characters, so that a stranger's text cannot control the terminal of a reader.
std::string Quoted(std::string_view value) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), IsPlain)) return std::string(value);
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out.append("\\").push_back(c);
    } else {
      out += Printable(std::string(1, c));
    }
  }
  return out + '"';
}

std::string Text(const LogField& field) {
  return " " + std::string(field.key) + "=" + Quoted(field.value);
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

LogContext LogContext::Current() { return context; }

LogScope::LogScope(const LogField& field) : outer_(context) { context.text_ += Text(field); }

LogScope::LogScope(LogContext other) : outer_(std::exchange(context, std::move(other))) {}

LogScope::~LogScope() { context = std::move(outer_); }

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (level < threshold.load(std::memory_order_relaxed)) return;
  std::string line = "msg=" + Quoted(message);
  for (const LogField& field : fields) line += Text(field);
  line += context.text();
  Output& output = TheOutput();
  const MutexLock lock(output.mutex);
  if (!output.logger) output.logger = MakeLogger(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  output.logger->log(SpdlogLevel(level), "{}", line);
}

void SetLogLevel(LogLevel level) noexcept { threshold.store(level, std::memory_order_relaxed); }

void SetLogFile(const std::string& path) {
  Output& output = TheOutput();
  std::shared_ptr<spdlog::logger> logger;
  // spdlog would make it: a misspelt path would look like a program that is silent.
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(folder))
    throw std::runtime_error("open log file " + path + ": there is no folder " + folder.string());
  try {
    logger = MakeLogger(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
  } catch (const spdlog::spdlog_ex& e) {
    throw std::runtime_error("open log file " + path + ": " + e.what());
  }
  const MutexLock lock(output.mutex);
  output.logger = std::move(logger);
}

}  // namespace kuryr
