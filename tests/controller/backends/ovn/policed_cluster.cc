#include "tests/controller/backends/ovn/policed_cluster.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "service/metrics_text.h"
#include "tests/controller/backends/ovn/ovn_text.h"

namespace kuryr::controller::ovn {
namespace {

constexpr std::chrono::minutes kSettlePatience{5};

}  // namespace

PolicedObjects::PolicedObjects(const policy::BigCluster& of) : size(of) {
  for (size_t i = 0; i < size.namespaces; ++i) {
    teams[policy::BigCluster::NameOf(i)] = i;
    for (size_t pod = 0; pod < size.pods_of_each; ++pod)
      apps[policy::BigCluster::UidOf(i, pod)] = pod;
    std::vector<size_t>& peers = allowed[policy::BigCluster::NameOf(i)];
    for (size_t app = 0; app < policy::BigCluster::kApps; ++app) peers.push_back(app + 1);
  }
}

/// Policies come first, and a namespace after its pods.
PolicedCluster::PolicedCluster(PolicedObjects objects, std::string remote)
    : objects_(std::move(objects)), remote_(std::move(remote)) {
  for (size_t i = 0; i < objects_.size.namespaces; ++i) {
    const std::string name_space = policy::BigCluster::NameOf(i);
    for (size_t app = 0; app < policy::BigCluster::kApps; ++app) {
      verdicts_.Apply(compiler_.SetPolicy(
          name_space, std::to_string(app),
          policy::BigCluster::Policy(app, objects_.allowed[name_space].at(app))));
    }
    for (size_t pod = 0; pod < objects_.size.pods_of_each; ++pod) {
      verdicts_.Apply(compiler_.SetPod(
          policy::BigCluster::Pod(i, pod, objects_.apps[policy::BigCluster::UidOf(i, pod)])));
    }
    verdicts_.Apply(
        compiler_.SetNamespace(name_space, policy::BigCluster::TeamOf(objects_.teams[name_space])));
  }
}

void PolicedCluster::ReplaceController() {
  backend_.reset();
  backend_ = std::make_unique<OvnBackend>(
      ReadOptionsOf("[ovn]\nnb_connection = " + remote_ +
                    "\n[pool:pods]\ncidr = 10.0.0.0/8\ngateway = none\ndefault = true\nrest = 0\n"),
      BackendHooks{.wake =
                       [this](const Owner&) {
                         const std::lock_guard lock(mutex_);
                         ++tells_;
                         told_.notify_all();
                       },
                   .may_write = [] { return true; },
                   .is_scope = {}},
      std::chrono::milliseconds(0));
  backend_->Enforce({.policies = {verdicts_.policies().begin(), verdicts_.policies().end()},
                     .pods = verdicts_.pods(),
                     .errors = {}});
  for (const auto& [uid, vifs] : vifs_) backend_->Adopt(OwnerOf(uid), vifs);
  backend_->EndAdoption();
}

void PolicedCluster::Plan() {
  const auto request = [](const std::string& uid) {
    return PlanRequest{.owner = OwnerOf(uid),
                       .interfaces = {{.ifname = "eth0", .is_default = true}}};
  };
  for (const auto& [uid, app] : objects_.apps) (void)backend_->Reserve(request(uid));
  for (const auto& [uid, app] : objects_.apps) {
    std::unique_lock lock(mutex_);
    for (uint64_t seen = tells_;; seen = tells_) {
      lock.unlock();
      const auto vifs = backend_->Reserve(request(uid));
      lock.lock();
      if (vifs) {
        vifs_[uid] = *vifs;
        break;
      }
      if (!told_.wait_for(lock, kSettlePatience, [&] { return tells_ != seen; }))
        throw std::runtime_error(uid + " gets no plan");
    }
    Note(uid);
  }
}

void PolicedCluster::Adopt(const Vifs& vifs) {
  vifs_ = vifs;
  ReplaceController();
  SettleAll();
}

void PolicedCluster::Relabel(size_t name_space, size_t pod, size_t app) {
  objects_.apps[policy::BigCluster::UidOf(name_space, pod)] = app;
  Apply(compiler_.SetPod(policy::BigCluster::Pod(name_space, pod, app)));
}

void PolicedCluster::MoveTo(size_t name_space, size_t team) {
  const std::string name = policy::BigCluster::NameOf(name_space);
  objects_.teams[name] = team;
  Apply(compiler_.SetNamespace(name, policy::BigCluster::TeamOf(team)));
}

void PolicedCluster::Allow(size_t name_space, size_t app, size_t peer) {
  const std::string name = policy::BigCluster::NameOf(name_space);
  objects_.allowed[name].at(app) = peer;
  Apply(compiler_.SetPolicy(name, std::to_string(app), policy::BigCluster::Policy(app, peer)));
}

void PolicedCluster::Apply(const policy::PolicyChanges& changes) {
  verdicts_.Apply(changes);
  changed_.clear();
  for (const auto& [uid, sets] : changes.pods) {
    changed_.push_back(uid);
    Note(uid);
  }
  backend_->Enforce(changes);
}

void PolicedCluster::Note(const std::string& uid) {
  history_[vif::Common(vifs_.at(uid).at(0).vif).id.value()].push_back(verdicts_.pods().at(uid));
}

void PolicedCluster::SettleAll() {
  std::vector<std::string> uids;
  uids.reserve(vifs_.size());
  for (const auto& [uid, vifs] : vifs_) uids.push_back(uid);
  Settle(uids);
}

void PolicedCluster::SettleChanged() { Settle(changed_); }

void PolicedCluster::Settle(const std::vector<std::string>& uids) {
  for (const std::string& uid : uids) {
    std::unique_lock lock(mutex_);
    for (uint64_t seen = tells_;; seen = tells_) {
      lock.unlock();
      const bool is_settled = backend_->Await(OwnerOf(uid), vifs_.at(uid));
      lock.lock();
      if (is_settled) break;
      if (!told_.wait_for(lock, kSettlePatience, [&] { return tells_ != seen; }))
        throw std::runtime_error(uid + " is not as its policies say");
    }
  }
}

uint64_t PolicedCluster::Figure(const std::string& name) const {
  service::MetricsText text;
  backend_->WriteTo(text);
  const std::string line = "\n" + name + " ";
  const std::string all = "\n" + text.text();
  return std::stoull(all.substr(all.find(line) + line.size()));
}

}  // namespace kuryr::controller::ovn
