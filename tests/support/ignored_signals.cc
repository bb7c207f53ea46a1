#include <csignal>

namespace {

/// Ignores SIGPIPE as the project's programs do: closing a connection that was cut writes to it.
[[maybe_unused]] const auto kIgnored = std::signal(SIGPIPE, SIG_IGN);

}  // namespace
