#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace kuryr {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// One fact of a log line: `key=value`. Values are quoted where logfmt asks for it.
struct LogField {
  LogField(std::string_view key_, std::string value_) : key(key_), value(std::move(value_)) {}
  LogField(std::string_view key_, const char* value_) : key(key_), value(value_) {}
  template <typename T>
    requires std::is_arithmetic_v<T>
  LogField(std::string_view key_, T value_) : key(key_), value(std::to_string(value_)) {}

  std::string_view key;
  std::string value;
};

/// Writes one logfmt line on stderr: `level=info msg="vif plugged" pod=default/nginx ms=3.1`. The
/// message is constant and lower-case, facts are fields, and no field ever holds a token. The
/// fields of the thread's LogScopes come last. Thread-safe.
void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

/// The fields that end every line of a thread. Pass them to another thread that continues the work.
class LogContext {
 public:
  [[nodiscard]] static LogContext Current();
  /// The fields as they are written.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  friend class LogScope;

  std::string text_;
};

/// For its lifetime, changes the fields that end the lines of its thread. Scopes nest.
class LogScope {
 public:
  /// Adds one field.
  explicit LogScope(const LogField& field);
  /// Replaces this thread's fields by those of another thread.
  explicit LogScope(LogContext context);
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;
  ~LogScope();

 private:
  LogContext outer_;
};

/// Lines below `level` are dropped; kWarning at start. Thread-safe.
void SetLogLevel(LogLevel level) noexcept;

/// Appends to `path` instead of stderr. Throws std::runtime_error when it cannot be opened.
void SetLogFile(const std::string& path);

}  // namespace kuryr
