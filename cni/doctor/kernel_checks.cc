#include "cni/doctor/kernel_checks.h"

#include <sched.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "binding/drivers/drivers.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::cni::doctor {
namespace {

using binding::RouteSocket;

constexpr const char* kLower = "kuryr-doctor0";
constexpr const char* kUpper = "kuryr-doctor1";

/// A kind of link, and what makes one.
struct Kind {
  const char* name;
  const char* module;
  std::function<void(RouteSocket&)> make;
};

binding::StackedLink OnLower(RouteSocket& socket) {
  return {.name = kUpper, .parent = socket.FindLink(kLower).value()};
}

std::vector<Kind> Kinds() {
  return {
      {"veth", "veth", [](RouteSocket&) {}},
      {"bridge", "bridge",
       [](RouteSocket& socket) { (void)socket.CreateBridgeDown(kUpper, std::nullopt); }},
      {"VLAN", "8021q", [](RouteSocket& socket) { (void)socket.CreateVlan(OnLower(socket), 1); }},
      {"macvlan", "macvlan", [](RouteSocket& socket) { socket.CreateMacvlan(OnLower(socket)); }}};
}

std::optional<std::system_error> WhyNot(const Kind& kind) {
  try {
    RouteSocket socket;
    socket.CreateVeth({.name = kLower, .peer_name = "kuryr-doctor2"});
    kind.make(socket);
    return std::nullopt;
  } catch (const std::system_error& e) {
    return e;
  }
}

/// Why the kernel cannot make such a link; nullopt when it can. A thread tries it in its own
/// namespace, which ends with the thread and takes the links along.
std::optional<std::system_error> WhyNotInOwnNetns(const Kind& kind) {
  std::optional<std::system_error> why;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) {
      why.emplace(errno, std::generic_category(), "make a network namespace");
    } else {
      why = WhyNot(kind);
    }
  }).join();
  return why;
}

/// Whether a driver that the operator has named needs such links. Every driver needs veth.
bool IsNeeded(const Kind& kind, const std::vector<std::string>& drivers) {
  if (std::string_view(kind.module) == "veth") return true;
  return std::any_of(drivers.begin(), drivers.end(), [&](const std::string& driver) {
    const binding::DriverRow* row = binding::FindDriverRow(driver);
    if (row == nullptr) return false;
    return std::find(row->modules.begin(), row->modules.end(), kind.module) != row->modules.end();
  });
}

Finding Check(const Kind& kind, const Config& config) {
  const std::string subject = std::string("kernel: ") + kind.name;
  const auto why = WhyNotInOwnNetns(kind);
  if (!why) return {subject, Verdict::kGood, "can be made", ""};
  const bool needed = IsNeeded(kind, config.binding.drivers);
  const std::string mend = why->code() == std::errc::operation_not_permitted
                               ? "run it as root, with CAP_NET_ADMIN and CAP_SYS_ADMIN"
                               : std::string("load the kernel's module: modprobe ") + kind.module;
  return {subject, needed ? Verdict::kBad : Verdict::kUnknown, why->what(), mend};
}

}  // namespace

Findings CheckKernel(const Config& config) {
  Findings findings;
  for (const Kind& kind : Kinds()) findings.push_back(Check(kind, config));
  return findings;
}

}  // namespace kuryr::cni::doctor
