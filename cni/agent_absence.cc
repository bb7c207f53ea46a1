#include "cni/agent_absence.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <ctime>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/ownership.h"
#include "base/unique_fd.h"
#include "cni/attachments/process.h"

namespace kuryr::cni {
namespace {

using std::chrono::milliseconds;

milliseconds SinceBoot() {
  timespec now{};
  if (::clock_gettime(CLOCK_BOOTTIME, &now) != 0) ThrowErrno("read CLOCK_BOOTTIME");
  return milliseconds(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

/// The time after `boot` that the text has; unset for text of another boot, or that is no note.
std::optional<milliseconds> ParseNote(const std::string& text, const std::string& boot) {
  if (!text.starts_with(boot + " ")) return std::nullopt;
  milliseconds::rep time = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + boot.size() + 1, end, time);
  // A STATUS that was killed while it wrote has left a part.
  if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != '\n') return std::nullopt;
  return milliseconds(time);
}

void WriteNote(const std::filesystem::path& path, const std::string& text) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const std::filesystem::path folder = path.parent_path();
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    ThrowErrno("create " + folder.string());
  RequireOwnFolder(folder);
  const UniqueFd file(::open(path.c_str(), kFlags, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    ThrowErrno("write " + path.string());
}

}  // namespace

AgentAbsence::AgentAbsence(const std::string& socket) : note_(socket + ".absent") {}

milliseconds AgentAbsence::Note() const {
  const milliseconds now = SinceBoot();
  const std::string boot = BootId();
  const auto begin = ParseNote(ReadFile(note_, FileOwner::kRootAlone).value_or(""), boot);
  if (begin && *begin <= now) return now - *begin;
  WriteNote(note_, boot + " " + std::to_string(now.count()) + "\n");
  return milliseconds(0);
}

void AgentAbsence::End() const noexcept { ::unlink(note_.c_str()); }

}  // namespace kuryr::cni
