#include "controller/backends/neutron/held/port_ledger.h"

#include <algorithm>

#include "base/log.h"

namespace kuryr::controller::neutron {
namespace {

template <typename Ports>
auto FindHeld(Ports& ports, const std::string& id) {
  return std::find_if(ports.begin(), ports.end(),
                      [&](const HeldPort& port) { return port.id == id; });
}

template <typename Ports>
auto FindByIfname(Ports& ports, const std::string& ifname) {
  return std::find_if(ports.begin(), ports.end(),
                      [&](const HeldPort& port) { return port.ifname == ifname; });
}

}  // namespace

const HeldPort* PortLedger::Account::Find(const std::string& port_id) const {
  const auto held = FindHeld(ports, port_id);
  return held == ports.end() ? nullptr : &*held;
}

void PortLedger::Open(const Owner& owner, bool must_search) {
  accounts_[owner.id] = {.owner = owner, .must_search = must_search};
}

void PortLedger::Close(const std::string& owner_id) {
  const auto entry = accounts_.find(owner_id);
  if (entry == accounts_.end()) return;
  for (const HeldPort& port : entry->second.ports) Disown(entry->second, port.id);
  for (const HeldPort& port : entry->second.removed) Disown(entry->second, port.id);
  accounts_.erase(entry);
}

const PortLedger::Account* PortLedger::Find(const std::string& owner_id) const {
  const auto entry = accounts_.find(owner_id);
  return entry == accounts_.end() ? nullptr : &entry->second;
}

const PortLedger::Account* PortLedger::FindOwnerOf(const std::string& port_id) const {
  const auto owner = owners_.find(port_id);
  return owner == owners_.end() ? nullptr : Find(owner->second);
}

std::optional<std::vector<vif::PodVif>> PortLedger::VifsFor(
    const std::string& owner_id, const std::vector<InterfaceRequest>& interfaces) const {
  const std::vector<HeldPort>& ports = accounts_.at(owner_id).ports;
  std::vector<vif::PodVif> vifs;
  for (const InterfaceRequest& interface : interfaces) {
    const auto held = FindByIfname(ports, interface.ifname);
    if (held == ports.end() || !held->vif || held->told) return std::nullopt;
    vifs.push_back({.ifname = held->ifname, .is_default = interface.is_default, .vif = *held->vif});
  }
  const auto first =
      std::find_if(vifs.begin(), vifs.end(), [](const vif::PodVif& vif) { return vif.is_default; });
  if (first != vifs.end()) std::rotate(vifs.begin(), first, first + 1);
  return vifs;
}

PortLedger::Taken PortLedger::Take(Account& account, const vif::PodVif& vif) {
  const std::string id = vif::Common(vif.vif).id.value_or("");
  const bool is_active = vif::IsActive(vif);
  if (account.lost.contains(id) && !is_active) return Taken::kYes;
  if (FindHeld(account.removed, id) != account.removed.end()) return Taken::kYes;
  if (!Claim(account, id, is_active)) return Taken::kAnothers;
  owners_.insert_or_assign(id, account.owner.id);
  Taken taken = Taken::kYes;
  auto held = FindHeld(account.ports, id);
  if (held == account.ports.end()) {
    const auto former = FindByIfname(account.ports, vif.ifname);
    if (former != account.ports.end()) {
      taken = Taken::kInstead;
      Disown(account, former->id);
      account.ports.erase(former);
    }
    account.ports.push_back({.id = id, .ifname = vif.ifname, .is_default = vif.is_default});
    held = account.ports.end() - 1;
  }
  held->written = true;
  held->active = held->active || is_active;
  if (is_active) {
    held->vif.reset();
    held->told = false;
  } else if (!held->vif) {
    held->vif = vif.vif;
    held->told = !held->known;
  }
  return taken;
}

bool PortLedger::Claim(const Account& account, const std::string& port_id, bool is_active) {
  const Account* const other = FindOwnerOf(port_id);
  if (!other || other == &account) return true;
  const HeldPort* const held = other->Find(port_id);
  if (!is_active || !held || !held->told) return false;
  Lose(At(other->owner.id), port_id);
  return true;
}

bool PortLedger::Merge(Account& account, const std::vector<HeldPort>& ports) {
  std::erase_if(account.ports, [&](const HeldPort& held) {
    const bool stays = held.written || FindHeld(ports, held.id) != ports.end();
    if (!stays) Disown(account, held.id);
    return !stays;
  });
  bool is_whole = true;
  for (const HeldPort& port : ports) {
    if (FindHeld(account.removed, port.id) != account.removed.end()) continue;
    const auto held = FindHeld(account.ports, port.id);
    if (held != account.ports.end()) {
      held->known = port.known;
      held->told = port.told;
      held->is_default = port.is_default;
      held->active = held->active || port.active;
      if (port.vif) held->vif = port.vif;
      if (port.seen && (!held->seen || port.seen->at > held->seen->at)) held->seen = port.seen;
    } else if (FindByIfname(account.ports, port.ifname) == account.ports.end()) {
      account.ports.push_back(port);
      owners_.insert_or_assign(port.id, account.owner.id);
    } else {
      is_whole = false;
    }
  }
  return is_whole;
}

std::vector<std::string> PortLedger::Keep(Account& account, const std::vector<vif::PodVif>& vifs) {
  std::vector<std::string> removed;
  std::erase_if(account.ports, [&](const HeldPort& held) {
    const bool stays = std::any_of(vifs.begin(), vifs.end(), [&](const vif::PodVif& vif) {
      return vif::Common(vif.vif).id == held.id;
    });
    if (stays) return false;
    removed.push_back(held.id);
    account.removed.push_back(held);
    return true;
  });
  return removed;
}

void PortLedger::Forget(Account& account, const std::vector<std::string>& freed) {
  for (const std::string& id : freed) {
    Disown(account, id);
    std::erase_if(account.removed, [&](const HeldPort& held) { return held.id == id; });
  }
}

std::vector<Owner> PortLedger::MarkActive(const std::vector<std::string>& port_ids) {
  std::vector<Owner> ready;
  for (const std::string& id : port_ids) {
    const Account* const owner = FindOwnerOf(id);
    if (!owner) continue;
    Account& account = At(owner->owner.id);
    const auto held = FindHeld(account.ports, id);
    if (held != account.ports.end()) held->active = true;
    if (std::all_of(account.ports.begin(), account.ports.end(),
                    [](const HeldPort& port) { return port.active; }))
      ready.push_back(account.owner);
  }
  return ready;
}

void PortLedger::Note(const std::string& port_id, const SeenPort& seen) {
  const Account* const owner = FindOwnerOf(port_id);
  if (!owner) return;
  std::vector<HeldPort>& ports = At(owner->owner.id).ports;
  const auto held = FindHeld(ports, port_id);
  if (held == ports.end() || (held->seen && held->seen->at > seen.at)) return;
  held->seen = seen;
}

std::vector<std::pair<const Owner*, const HeldPort*>> PortLedger::Ports() const {
  std::vector<std::pair<const Owner*, const HeldPort*>> all;
  for (const auto& [id, account] : accounts_) {
    for (const HeldPort& port : account.ports) all.emplace_back(&account.owner, &port);
  }
  return all;
}

std::optional<std::string> PortLedger::Doubt(const std::string& port_id) {
  const Account* const owner = FindOwnerOf(port_id);
  if (!owner) return std::nullopt;
  Account& account = At(owner->owner.id);
  const auto held = FindHeld(account.ports, port_id);
  if (held == account.ports.end()) return std::nullopt;
  held->doubted = true;
  return account.owner.id;
}

std::vector<std::string> PortLedger::Settle(Account& account,
                                            const std::vector<HeldPort>& verified) {
  std::vector<std::string> gone;
  for (const HeldPort& seen : verified) {
    const auto held = FindHeld(account.ports, seen.id);
    if (!seen.doubted || held == account.ports.end()) continue;
    held->doubted = false;
    if (!seen.gone) continue;
    gone.push_back(seen.id);
    Lose(account, seen.id);
  }
  return gone;
}

void PortLedger::Lose(Account& account, const std::string& port_id) {
  const auto held = FindHeld(account.ports, port_id);
  if (held == account.ports.end() || held->gone) return;
  // A node takes another port while it runs.
  held->gone = held->written && !held->vif && !account.owner.is_node();
  Log(LogLevel::kWarning, held->gone ? "port gone: its pod has no network" : "port gone: made anew",
      {{"owner", account.owner.scope + "/" + account.owner.name}, {"port", port_id}});
  if (held->gone) return;
  account.lost.insert(port_id);
  Disown(account, port_id);
  account.ports.erase(held);
}

std::vector<std::string> PortLedger::Written(
    const std::function<bool(const std::string& owner_id)>& passes) const {
  std::vector<std::string> ids;
  for (const auto& [id, account] : accounts_) {
    if (!passes(id)) continue;
    for (const HeldPort& port : account.ports) {
      if (port.written) ids.push_back(port.id);
    }
  }
  return ids;
}

size_t PortLedger::gone() const {
  size_t count = 0;
  for (const auto& [id, account] : accounts_) {
    count += static_cast<size_t>(std::count_if(account.ports.begin(), account.ports.end(),
                                               [](const HeldPort& port) { return port.gone; }));
  }
  return count;
}

void PortLedger::Disown(const Account& account, const std::string& port_id) {
  const auto owner = owners_.find(port_id);
  if (owner != owners_.end() && owner->second == account.owner.id) owners_.erase(owner);
}

}  // namespace kuryr::controller::neutron
