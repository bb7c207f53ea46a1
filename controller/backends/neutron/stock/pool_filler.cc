#include "controller/backends/neutron/stock/pool_filler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "controller/backends/neutron/ports/port_request.h"

namespace kuryr::controller::neutron {
namespace {

using Event = ReadyPorts::Event;
using ErrorKind = NeutronError::Kind;

constexpr const char* kList = "list";
/// While another controller may lead.
constexpr std::chrono::seconds kLeadsAgain{1};

std::string TextOf(const PoolKey& key) {
  std::string text = key.place;
  for (const std::string& subnet : key.subnets) text += " " + subnet;
  return text;
}

}  // namespace

PoolFiller::PoolFiller(const PortPools::Means& means, Hooks hooks, Times times)
    : means_(means),
      hooks_(std::move(hooks)),
      times_(times),
      pause_(times.late),
      queue_({.retry_base = times.retry}),
      thread_([this] { Work(); }) {}

void PoolFiller::Begin() {
  const MutexLock lock(mutex_);
  if (!std::exchange(begun_, true)) queue_.Add(kList);
}

void PoolFiller::Want(const PoolNeed& need) {
  const std::string text = TextOf(need.key);
  const MutexLock lock(mutex_);
  needs_[text].need = need;
  queue_.AddAfter(text, WaitFor(needs_[text]));
}

void PoolFiller::Doubt() { queue_.AddAfter(kList, times_.doubt); }

void PoolFiller::Work() {
  while (const auto item = queue_.Get()) {
    try {
      Round(item->key);
    } catch (const std::exception& e) {
      Log(LogLevel::kWarning, "pool not looked after; it will be tried again",
          {{"pool", item->key}, {"error", e.what()}});
      queue_.AddRateLimited(item->key);
    }
    queue_.Done(item->key);
  }
}

void PoolFiller::Round(const std::string& text) {
  if (!hooks_.may_write()) {
    queue_.AddAfter(text, kLeadsAgain);
  } else if (text == kList) {
    List();
    queue_.AddAfter(kList, pause_);
    pause_ = std::min<Clock::duration>(2 * pause_, times_.list);
  } else {
    FillRound(text);
  }
}

PoolFiller::Clock::duration PoolFiller::WaitFor(const Known& known) const {
  Clock::duration left{};
  if (known.filled_at) left = *known.filled_at + means_.defaults.pool.interval - Clock::now();
  return std::max({left, means_.ready.RestLeft(), Clock::duration{}});
}

void PoolFiller::FillRound(const std::string& text) {
  if (must_list_) List();
  PoolNeed need;
  {
    const MutexLock lock(mutex_);
    Known& known = needs_.at(text);
    const Clock::duration wait = WaitFor(known);
    if (wait > Clock::duration{}) return queue_.AddAfter(text, wait);
    if (means_.ready.Lacking(known.need.key) == 0) return;
    need = known.need;
    known.filled_at = Clock::now();
  }
  try {
    Fill(need);
  } catch (const NeutronError& e) {
    means_.ready.Count(need.key, Event::kFailedFill);
    if (e.uncertain()) Doubt();
    if (e.kind() == ErrorKind::kQuota || e.kind() == ErrorKind::kExhausted)
      means_.ready.Rest(kFullRest);
    if (e.retry_after()) means_.ready.Rest(*e.retry_after());
    // Its namespace is gone, or somebody has deleted it: the next pod says what it needs.
    if (e.kind() == ErrorKind::kNotFound) return;
    throw;
  } catch (const PlanError&) {
    means_.ready.Count(need.key, Event::kFailedFill);
    throw;
  }
}

void PoolFiller::Fill(const PoolNeed& need) {
  ReadyPorts::Room room = means_.ready.TakeRoom(need.key, means_.ready.Lacking(need.key));
  const size_t count = room.count();
  if (count == 0) return;
  const PodNetwork network = means_.networks.Find(need.subnets);
  PortRequest request = ReadyRequestOf(network, means_.defaults);
  means_.driver.Describe(request, {.node = need.node.name});
  // The description names no owner yet. It names the cluster where the tags come later.
  request.description = TagsComeLater(means_.api, means_.defaults) ? MarkOf(means_.defaults) : "";
  const size_t made = Create(need, network, std::vector<PortRequest>(count, request), room);
  means_.ready.Count(need.key, Event::kFill);
  Log(LogLevel::kInfo, "pool filled", {{"pool", TextOf(need.key)}, {"ports", made}});
}

size_t PoolFiller::Create(const PoolNeed& need, const PodNetwork& network,
                          std::vector<PortRequest> requests, ReadyPorts::Room& room) {
  const size_t count = requests.size();
  if (TagsComeLater(means_.api, means_.defaults)) {
    for (PortRequest& request : requests) request.tags.clear();
  }
  if (network.has_slaac) {
    for (const PortRequest& request : requests)
      AddAll(need, network, {means_.api.CreatePort(request)}, room);
  } else {
    AddAll(need, network, means_.api.CreatePorts(requests), room);
  }
  return count;
}

void PoolFiller::AddAll(const PoolNeed& need, const PodNetwork& network,
                        const std::vector<Port>& ports, ReadyPorts::Room& room) {
  try {
    const bool tags_later = TagsComeLater(means_.api, means_.defaults);
    for (const Port& port : ports) {
      (void)means_.driver.Join(need.node, port, network);
      if (tags_later) means_.api.SetTags(port.id, means_.defaults.tags);
      ReadyPort ready = PortPools::ReadyOf(means_.defaults, port);
      const bool is_as_made = !tags_later && !means_.defaults.is_nested();
      if (!is_as_made) ready.revision = 0;
      room.Put(std::move(ready));
    }
  } catch (...) {
    must_list_ = true;
    throw;
  }
}

void PoolFiller::List() {
  means_.driver.Learn();
  means_.ready.BeginListing();
  std::vector<ReadyPorts::Listed> found;
  for (const PortFilter& filter : Filters()) {
    for (const Port& port : means_.api.ListPorts(filter)) {
      // A server may ignore a filter that it does not know, and list ports of others.
      const bool is_free = PortPools::IsFree(means_.driver, means_.defaults, port);
      if (!is_free) continue;
      if (hooks_.is_held(port.id)) {
        means_.ready.PassOver(port.id);
        continue;
      }
      if (auto listed = Complete(port)) found.push_back(std::move(*listed));
    }
  }
  for (const ReadyPort& excess : means_.ready.EndListing(std::move(found)))
    means_.driver.Delete(excess.id);
  listed_ = true;
  must_list_ = false;
}

std::optional<ReadyPorts::Listed> PoolFiller::Complete(const Port& port) {
  const bool is_fills =
      port.device_owner == kDeviceOwner && PortPools::IsReady(means_.driver, port);
  if (is_fills && !means_.driver.PlaceOf(port)) {
    Log(LogLevel::kInfo, "port deleted that was made for a pool, and is in no place of a pod's",
        {{"port", port.id}});
    means_.driver.Delete(port.id);
    return std::nullopt;
  }
  auto key = PortPools::KeyOf(means_, port);
  if (!key) return std::nullopt;
  ReadyPort ready = PortPools::ReadyOf(means_.defaults, port);
  if (!HasTags(port, means_.defaults.tags)) {
    means_.api.SetTags(port.id, means_.defaults.tags);
    ready.revision = 0;
  }
  return ReadyPorts::Listed{std::move(*key), std::move(ready)};
}

/// Without a name are those of Kuryr's pools without port_debug, and told by tags alone. Without
/// tags are those of a fill that has not set them yet, and perhaps never will.
std::vector<PortFilter> PoolFiller::Filters() const {
  PortFilter filter = means_.driver.FilterOf("");
  filter.project_id = means_.defaults.project;
  filter.tags = means_.defaults.tags;
  std::vector<PortFilter> filters;
  if (!listed_ && !filter.tags.empty()) {
    filters.push_back(filter);
  } else {
    for (const char* name : {kReadyName, kFormerReadyName}) {
      filter.name = name;
      filters.push_back(filter);
    }
  }
  if (filter.tags.empty()) return filters;
  filter.tags.clear();
  filter.name = kReadyName;
  filter.description = MarkOf(means_.defaults);
  filters.push_back(filter);
  return filters;
}

}  // namespace kuryr::controller::neutron
