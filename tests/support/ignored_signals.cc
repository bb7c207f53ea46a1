#include <csignal>

namespace {

/// As every program of ours: closing a connection that was cut writes to it.
[[maybe_unused]] const auto kIgnored = std::signal(SIGPIPE, SIG_IGN);

}  // namespace
