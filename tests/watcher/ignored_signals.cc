#include <csignal>

namespace {

/// As every program that uses an ApiClient: closing a connection that Stop() has cut writes to it.
[[maybe_unused]] const auto kIgnored = std::signal(SIGPIPE, SIG_IGN);

}  // namespace
