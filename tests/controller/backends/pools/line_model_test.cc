#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller::pools {
namespace {

using std::chrono::seconds;

constexpr const char* kLinePool = "[pool:blue]\ncidr = 10.1.0.0/28\ndefault = true\nrest = 18\n";
constexpr int kLineAddresses = 13;
constexpr seconds kUntilSpareInLine{3};

/// Pods that ask only when they are new, when they are woken, and at the time they were told. Their
/// numbers are in the order in which they come.
class LocalLineModelTest : public PoolBackendTest {
 protected:
  void Step() {
    served_.clear();
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        return Add();
      case 3:
      case 4:
        return Take(having_);
      case 5:
        if (random_() % 4 == 0) Take(waiting_);
        return;
      default:
        return Pass(seconds(random_() % 9));
    }
  }

  void Add() {
    waiting_.insert(++pods_);
    due_[pods_] = now_;
  }

  /// One of the pods is deleted.
  void Take(std::set<int>& pods) {
    if (pods.empty()) return;
    const int pod = *std::next(pods.begin(), static_cast<long>(random_() % pods.size()));
    pods.erase(pod);
    due_.erase(pod);
    backend_->Release(Pod(std::to_string(pod)).id);
    if (&pods == &having_) released_.push_back(now_);
  }

  /// Lets all pods ask that should, in random order.
  void Settle() {
    while (true) {
      for (const std::string& name : Woken()) due_[std::stoi(name)] = now_;
      std::vector<int> ready;
      for (const auto& [pod, at] : due_) {
        if (at <= now_) ready.push_back(pod);
      }
      if (ready.empty()) return;
      Ask(ready[random_() % ready.size()]);
    }
  }

  void Ask(int pod) {
    ++asked_;
    due_.erase(pod);
    const Failure failure = Fail(RequestOf(Pod(std::to_string(pod))));
    if (failure.retry_after) due_[pod] = now_ + *failure.retry_after;
    if (failure.kind) return;
    waiting_.erase(pod);
    having_.insert(pod);
    served_.insert(pod);
  }

  void Check() {
    const NetworkUsage usage = UsageOf("blue");
    ASSERT_EQ(usage.limit, double{kLineAddresses});
    ASSERT_EQ(usage.used, having_.size());
    const size_t free = kLineAddresses - usage.used - usage.resting;
    ASSERT_TRUE(waiting_.empty() || free == 0) << free << " are free";
    const auto young = std::count_if(released_.begin(), released_.end(),
                                     [&](TimePoint at) { return now_ - at < kUntilSpareInLine; });
    ASSERT_TRUE(waiting_.empty() || static_cast<int64_t>(usage.resting) <= young);
    ASSERT_TRUE(waiting_.empty() || served_.empty() || *served_.rbegin() < *waiting_.begin());
  }

  std::mt19937 random_{23};
  int pods_ = 0;
  int asked_ = 0;
  std::set<int> waiting_;
  std::set<int> having_;
  std::set<int> served_;  ///< pods served in this step
  std::map<int, TimePoint> due_;
  std::vector<TimePoint> released_;
};

TEST_F(LocalLineModelTest, NobodyWaitsWhileAnAddressIsFreeAndNobodyIsOvertaken) {
  Start(kLinePool);
  size_t most = 0;
  for (int step = 0; step < 5000; ++step) {
    Step();
    Settle();
    Check();
    if (HasFailure()) FAIL() << "in step " << step;
    most = std::max(most, waiting_.size());
  }
  EXPECT_GT(most, 50U);
  EXPECT_LT(asked_, 4 * pods_);
}

}  // namespace
}  // namespace kuryr::controller::pools
