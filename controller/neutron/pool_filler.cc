#include "controller/neutron/pool_filler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "controller/neutron/port_request.h"

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
    queue_.AddAfter(kList, times_.list);
  } else {
    FillRound(text);
  }
}

PoolFiller::Clock::duration PoolFiller::WaitFor(const Known& known) const {
  const auto due = known.filled_at + means_.defaults.pool.interval;
  return std::max({due - Clock::now(), means_.ready.RestLeft(), Clock::duration{}});
}

void PoolFiller::FillRound(const std::string& text) {
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
    throw;
  } catch (const BackendError&) {
    means_.ready.Count(need.key, Event::kFailedFill);
    throw;
  }
}

void PoolFiller::Fill(const PoolNeed& need) {
  const size_t count = means_.ready.Lacking(need.key);
  if (count == 0) return;
  const PodNetwork network = means_.networks.Find(need.subnets);
  PortRequest request = ReadyRequestOf(network, means_.defaults);
  means_.driver.Describe(request, {.node = need.node.name});
  // What says whose it is says nothing yet.
  request.description.clear();
  const size_t made = Create(need, network, std::vector<PortRequest>(count, request));
  means_.ready.Count(need.key, Event::kFill);
  Log(LogLevel::kInfo, "pool filled", {{"pool", TextOf(need.key)}, {"ports", made}});
}

size_t PoolFiller::Create(const PoolNeed& need, const PodNetwork& network,
                          std::vector<PortRequest> requests) {
  const size_t count = requests.size();
  const bool tags_later = !means_.defaults.tags.empty() && !means_.api.TagsAtCreation();
  if (tags_later) {
    for (PortRequest& request : requests) request.tags.clear();
  }
  if (network.HasSlaac()) {
    for (const PortRequest& request : requests)
      AddAll(need, network, {means_.api.CreatePort(request)}, tags_later);
  } else {
    AddAll(need, network, means_.api.CreatePorts(requests), tags_later);
  }
  return count;
}

void PoolFiller::AddAll(const PoolNeed& need, const PodNetwork& network,
                        const std::vector<Port>& ports, bool tags_later) {
  size_t added = 0;
  try {
    for (; added < ports.size(); ++added) {
      const Port& port = ports[added];
      (void)means_.driver.Join(need.node, port, network);
      if (tags_later) means_.api.SetTags(port.id, means_.defaults.tags);
      ReadyPort ready = PortPools::ReadyOf(means_.defaults, port);
      const bool is_as_made = !tags_later && !means_.defaults.is_nested();
      if (!is_as_made) ready.revision = 0;
      means_.ready.Put(need.key, std::move(ready));
    }
  } catch (...) {
    for (; added < ports.size(); ++added) Discard(ports[added]);
    throw;
  }
}

/// What is left is listed, or has no tag and so no cluster.
void PoolFiller::Discard(const Port& port) noexcept {
  try {
    means_.driver.Delete(port.id);
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "port not deleted that was made for a pool",
        {{"port", port.id}, {"error", e.what()}});
    queue_.AddAfter(kList, times_.doubt);
  }
}

void PoolFiller::List() {
  means_.driver.Learn();
  means_.ready.BeginListing();
  std::vector<ReadyPorts::Listed> found;
  for (const PortFilter& filter : Filters()) {
    for (const Port& port : means_.api.ListPorts(filter)) {
      // A filter that somebody did not understand must not cost others their ports.
      const bool is_free = PortPools::IsFree(means_.driver, means_.defaults, port);
      if (!is_free || hooks_.is_held(port.id)) continue;
      if (auto key = PortPools::KeyOf(means_, port))
        found.push_back({std::move(*key), PortPools::ReadyOf(means_.defaults, port)});
    }
  }
  for (const ReadyPort& excess : means_.ready.EndListing(std::move(found)))
    means_.driver.Delete(excess.id);
  listed_ = true;
}

/// Without a name are those of Kuryr's pools without port_debug, and told by tags alone.
std::vector<PortFilter> PoolFiller::Filters() const {
  PortFilter filter = means_.driver.FilterOf("");
  filter.project_id = means_.defaults.project;
  filter.tags = means_.defaults.tags;
  if (!listed_ && !filter.tags.empty()) return {filter};
  std::vector<PortFilter> filters;
  for (const char* name : {kReadyName, kFormerReadyName}) {
    filter.name = name;
    filters.push_back(filter);
  }
  return filters;
}

}  // namespace kuryr::controller::neutron
