#include "cni/agent/repair_events.h"

#include <poll.h>

#include <chrono>
#include <exception>
#include <string>

#include "base/backoff.h"
#include "base/event_fd.h"
#include "base/log.h"
#include "binding/netlink/link_events.h"
#include "binding/ovs/port_events.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

/// Longest time without an event; then the source is made anew.
constexpr std::chrono::hours kQuiet{12};

}  // namespace

RepairEvents::RepairEvents(Repair& repair, Upkeep& upkeep, const Config& config)
    : repair_(repair),
      upkeep_(upkeep),
      links_(
          [this](const std::stop_token& stop) { Run(stop, [] { return binding::LinkEvents(); }); }),
      ports_([this, remote = config.binding.ovsdb_connection](const std::stop_token& stop) {
        Run(stop, [&] { return binding::PortEvents(remote); });
      }) {}

template <typename Make>
void RepairEvents::Run(const std::stop_token& stop, const Make& make) {
  const EventFd cancel;
  const std::stop_callback on_stop(stop, [&cancel] { cancel.Set(); });
  Backoff backoff(200ms, 60s);
  while (!stop.stop_requested()) {
    try {
      for (auto source = make();;) {
        const auto names = source.Next(Deadline::After(kQuiet, cancel.fd()));
        if (names) {
          repair_.Wake(upkeep_, *names);
          backoff.Reset();
        } else {
          repair_.WakeAll(upkeep_);
        }
      }
    } catch (const std::exception& e) {
      if (stop.stop_requested()) return;
      Log(LogLevel::kDebug, "events of the node are missed", {{"error", e.what()}});
      pollfd stopped = {.fd = cancel.fd(), .events = POLLIN, .revents = 0};
      (void)::poll(&stopped, 1, static_cast<int>(backoff.Next().count()));
    }
  }
}

}  // namespace kuryr::cni
