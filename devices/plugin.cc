#include "devices/plugin.h"

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "devices/allocation.h"
#include "devices/preference.h"
#include "kubelet/message.h"
#include "kubelet/methods.h"

namespace kuryr::devices {
namespace {

namespace v1beta1 = kubelet::v1beta1;
using namespace std::chrono_literals;

/// The longest registration: newer kubelets dial back within Register, for at most 10 s.
constexpr auto kMostRegistration = 15s;
constexpr auto kAllocationIsNews = 1min;
constexpr auto kPause = 1s;
/// The most containers in one request; the kubelet asks for one at a time.
constexpr int kMostContainers = 100;

void RefuseMany(int containers) {
  if (containers <= kMostContainers) return;
  throw kubelet::CallError({kubelet::StatusCode::kResourceExhausted,
                            "asks for " + std::to_string(containers) + " containers, at most " +
                                std::to_string(kMostContainers) + " are served at a time"});
}

}  // namespace

std::string EndpointOf(const Resource& resource) {
  return "kuryr-" + resource.prefix + "_" + resource.name + ".sock";
}

std::optional<FileIdentity> FileIdentity::Of(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  constexpr int64_t kSecond = 1'000'000'000;
  return FileIdentity{.device = status.st_dev,
                      .inode = status.st_ino,
                      .changed = status.st_ctim.tv_sec * kSecond + status.st_ctim.tv_nsec};
}

std::chrono::nanoseconds FileIdentity::Age() const {
  return std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds(changed);
}

Plugin::Plugin(Resource resource, Ground ground)
    : resource_(std::move(resource)),
      ground_(std::move(ground)),
      name_(resource_.FullName()),
      endpoint_(EndpointOf(resource_)),
      told_(Listed().SerializeAsString()) {
  ground_.metrics.SetRegistered(name_, false);
}

void Plugin::SetResource(Resource resource) {
  is_news_ = true;
  resource_ = std::move(resource);
}

void Plugin::Offer(std::vector<Device> devices) {
  is_news_ = true;
  devices_ = std::move(devices);
}

void Plugin::Withhold(std::set<std::string> ids) {
  if (ids == withheld_) return;
  is_news_ = true;
  withheld_ = std::move(ids);
}

void Plugin::Tell() {
  if (!std::exchange(is_news_, false)) return;
  std::string list = Listed().SerializeAsString();
  if (list == told_) return;
  told_ = std::move(list);
  Log(LogLevel::kInfo, "devices offered",
      {{"resource", name_}, {"devices", devices_.size()}, {"withheld", withheld_.size()}});
  for (const auto& stream : streams_) stream->Send(told_);
}

void Plugin::Keep() {
  std::error_code error;
  if (!std::filesystem::exists(ground_.folder, error)) {
    keep_at_ = Clock::now() + kPause;
    return;
  }
  try {
    if (Listen()) Register();
  } catch (const std::exception& e) {
    TryAgainLater("cannot register with the kubelet; it will be tried again", e.what());
  }
}

/// Listens again if the socket is gone: the kubelet removes all sockets when it starts.
bool Plugin::Listen() {
  const std::filesystem::path path = ground_.folder / endpoint_;
  const auto there = FileIdentity::Of(path);
  if (server_ && there && there->inode == socket_->inode && there->device == socket_->device)
    return true;
  // Two processes of kuryr-devices would otherwise take the socket from each other without end.
  if (server_ && there && Clock::now() - listened_at_ < kPause) {
    keep_at_ = listened_at_ + kPause;
    return false;
  }
  if (server_) {
    Log(LogLevel::kWarning, there ? "socket is another's; it is made anew" : "socket is made anew",
        {{"path", path.string()}});
  }
  streams_.clear();
  registration_.reset();
  registered_with_.reset();
  refused_by_.reset();
  ground_.metrics.SetRegistered(name_, false);
  server_.reset();
  server_ = std::make_unique<kubelet::Server>(path, MakeMethods());
  socket_ = FileIdentity::Of(path);
  listened_at_ = Clock::now();
  return true;
}

void Plugin::Register() {
  const std::filesystem::path path = ground_.folder / "kubelet.sock";
  const auto there = FileIdentity::Of(path);
  if (there && refused_by_ == there && Clock::now() < keep_at_) return;
  keep_at_ = Clock::time_point::max();
  if (!there || registered_with_ == there) return;
  if (registration_ && registration_->kubelet == *there) return;
  refused_by_ = there;
  registration_.reset();
  registered_with_.reset();
  ground_.metrics.SetRegistered(name_, false);
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint_);
  request.set_resource_name(name_);
  request.mutable_options()->set_get_preferred_allocation_available(true);
  const kubelet::CallRequest call{
      .socket = path, .method = kubelet::kRegister, .message = request.SerializeAsString()};
  registration_.emplace(*there, call, Deadline::After(kMostRegistration));
}

void Plugin::EndRegistration() {
  try {
    (void)registration_->call.TakeAnswer();
    registered_with_ = registration_->kubelet;
    registration_.reset();
    refused_by_.reset();
    backoff_.Reset();
    problem_.clear();
    ground_.metrics.SetRegistered(name_, true);
    ground_.metrics.CountRegistration(name_, false);
    Log(LogLevel::kInfo, "registered with the kubelet",
        {{"resource", name_}, {"devices", devices_.size()}});
  } catch (const std::exception& e) {
    registration_.reset();
    TryAgainLater("the kubelet does not register it; it will be tried again", e.what());
  }
}

void Plugin::TryAgainLater(const char* what, const std::string& why) {
  if (why != problem_) Log(LogLevel::kWarning, what, {{"resource", name_}, {"error", why}});
  problem_ = why;
  ground_.metrics.CountRegistration(name_, true);
  keep_at_ = Clock::now() + backoff_.Next();
}

std::vector<int> Plugin::Fds() const {
  std::vector<int> fds;
  if (server_) fds.push_back(server_->fd());
  if (registration_) fds.push_back(registration_->call.fd());
  return fds;
}

void Plugin::Advance() {
  if (server_) server_->Advance();
  std::erase_if(streams_, [](const auto& stream) { return !stream->is_open(); });
  if (registration_ && registration_->call.Advance()) EndRegistration();
}

Owners Plugin::RecentlyAllocated() const {
  Owners owners;
  for (const auto& [id, at] : allocated_) {
    if (Clock::now() - at < kAllocationIsNews) owners.emplace(id, name_);
  }
  return owners;
}

kubelet::Methods Plugin::MakeMethods() {
  kubelet::Methods methods;
  methods.unary[kubelet::kGetDevicePluginOptions] =
      kubelet::Unary<v1beta1::Empty>([](const v1beta1::Empty& /*request*/) {
        v1beta1::DevicePluginOptions options;
        options.set_get_preferred_allocation_available(true);
        return options;
      });
  methods.unary[kubelet::kAllocate] = kubelet::Unary<v1beta1::AllocateRequest>(
      [this](const v1beta1::AllocateRequest& request) { return AllocateAll(request); });
  methods.unary[kubelet::kGetPreferredAllocation] =
      kubelet::Unary<v1beta1::PreferredAllocationRequest>(
          [this](const v1beta1::PreferredAllocationRequest& request) {
            return PreferAll(request);
          });
  methods.unary[kubelet::kPreStartContainer] = kubelet::Unary<v1beta1::PreStartContainerRequest>(
      [](const v1beta1::PreStartContainerRequest& /*request*/) {
        return v1beta1::PreStartContainerResponse();
      });
  methods.streaming[kubelet::kListAndWatch] = kubelet::Streaming<v1beta1::Empty>(
      [this](const v1beta1::Empty& /*request*/, std::shared_ptr<kubelet::AnswerStream> stream) {
        stream->Send(told_);
        streams_.push_back(std::move(stream));
      });
  return methods;
}

v1beta1::ListAndWatchResponse Plugin::Listed() const {
  v1beta1::ListAndWatchResponse list;
  for (const Device& device : devices_) {
    auto* added = list.add_devices();
    added->set_id(device.id);
    added->set_health(withheld_.contains(device.id) ? "Unhealthy" : "Healthy");
    if (device.numa_node && !resource_.exclude_topology)
      added->mutable_topology()->add_nodes()->set_id(*device.numa_node);
  }
  return list;
}

std::vector<Device> Plugin::FindAll(
    const google::protobuf::RepeatedPtrField<std::string>& ids) const {
  std::vector<Device> found;
  for (const std::string& id : ids) {
    const auto device = std::find_if(devices_.begin(), devices_.end(),
                                     [&](const Device& each) { return each.id == id; });
    if (device == devices_.end()) {
      throw kubelet::CallError(
          {kubelet::StatusCode::kNotFound, Printable(id) + " is no device of " + name_ + " now"});
    }
    if (found.size() == devices_.size()) {
      throw kubelet::CallError({kubelet::StatusCode::kNotFound,
                                "asks for " + std::to_string(ids.size()) + " devices, and " +
                                    name_ + " has " + std::to_string(found.size()) + " now"});
    }
    found.push_back(*device);
  }
  return found;
}

v1beta1::AllocateResponse Plugin::AllocateAll(const v1beta1::AllocateRequest& request) {
  RefuseMany(request.container_requests_size());
  v1beta1::AllocateResponse response;
  for (const auto& container : request.container_requests()) {
    try {
      const std::vector<Device> devices = FindAll(container.devices_ids());
      std::string ids;
      *response.add_container_responses() = Allocate(resource_, devices, ground_.sysfs);
      for (const Device& device : devices) {
        allocated_[device.id] = Clock::now();
        ids += (ids.empty() ? "" : ",") + device.id;
      }
      ground_.metrics.CountAllocation(name_, false);
      Log(LogLevel::kInfo, "devices allocated", {{"resource", name_}, {"devices", ids}});
    } catch (const kubelet::CallError& e) {
      ground_.metrics.CountAllocation(name_, true);
      Log(LogLevel::kWarning, "devices cannot be allocated",
          {{"resource", name_}, {"error", e.what()}});
      throw;
    }
  }
  return response;
}

v1beta1::PreferredAllocationResponse Plugin::PreferAll(
    const v1beta1::PreferredAllocationRequest& request) const {
  RefuseMany(request.container_requests_size());
  v1beta1::PreferredAllocationResponse response;
  for (const auto& container : request.container_requests()) {
    const auto& mandatory = container.must_include_device_ids();
    std::set<std::string> ids(container.available_device_ids().begin(),
                              container.available_device_ids().end());
    ids.insert(mandatory.begin(), mandatory.end());
    Choice choice{.mandatory = {mandatory.begin(), mandatory.end()},
                  .size = static_cast<size_t>(std::max(container.allocation_size(), 0))};
    for (const Device& device : devices_) {
      if (ids.contains(device.id)) choice.available.push_back(device);
    }
    auto* preferred = response.add_container_responses();
    for (const std::string& id : Prefer(choice)) preferred->add_device_ids(id);
  }
  return response;
}

}  // namespace kuryr::devices
