#include "config/unknown_options.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/names.h"

namespace kuryr {
namespace {

constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
#include "config/known_options.inc"
};

/// The sections of kuryr-kubernetes' last release, and those of its libraries.
constexpr std::string_view kOriginal[] = {"default",
                                          "binding",
                                          "cache_defaults",
                                          "cni_daemon",
                                          "cni_health_server",
                                          "health_server",
                                          "kubernetes",
                                          "namespace_subnet",
                                          "nested_dpdk",
                                          "neutron",
                                          "neutron_defaults",
                                          "octavia_defaults",
                                          "pod_vif_nested",
                                          "prometheus_exporter",
                                          "sriov",
                                          "vhostuser",
                                          "vif_pool"};
constexpr std::string_view kOriginalPrefixes[] = {"oslo_", "os_vif_"};
/// More letters than this make another word: kuryr-kubernetes' nodes_subnets_driver is no
/// pod_subnets_driver.
constexpr size_t kFewLetters = 2;

constexpr std::string_view kPool = "pool:";

using Sections = std::map<std::string, std::vector<std::string>>;

Sections KnownSections() {
  Sections known;
  for (const auto& [section, option] : kKnown) known[std::string(section)].emplace_back(option);
  return known;
}

bool IsOriginal(const std::string& section) {
  return std::find(std::begin(kOriginal), std::end(kOriginal), section) != std::end(kOriginal) ||
         std::any_of(std::begin(kOriginalPrefixes), std::end(kOriginalPrefixes),
                     [&](std::string_view prefix) { return section.starts_with(prefix); });
}

std::string Meant(const std::string& nearest) {
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

class Finder {
 public:
  explicit Finder(const ConfigFiles& files) : files_(files) {
    for (const auto& [section, options] : known_) names_.push_back(section);
  }

  [[nodiscard]] std::vector<std::string> Find() && {
    for (const std::string& section : files_.SectionsOf("")) {
      if (section.starts_with(kPool)) continue;
      const auto known = known_.find(section);
      if (known != known_.end()) {
        LookAt(section, known->second);
      } else if (!IsOriginal(section)) {
        found_.push_back(files_.WhereOf(section) + ": no program reads this section" +
                         Meant(NearestName(section, names_)));
      }
    }
    return std::move(found_);
  }

 private:
  void LookAt(const std::string& section, const std::vector<std::string>& known) {
    for (const std::string& option : files_.OptionsOf(section)) {
      if (std::find(known.begin(), known.end(), option) != known.end()) continue;
      const std::string nearest = IsOriginal(section) ? NearestName(option, known, kFewLetters)
                                                      : NearestName(option, known);
      if (nearest.empty() && IsOriginal(section)) continue;
      found_.push_back(files_.WhereOf(section, option) + ": no program reads this option" +
                       Meant(nearest));
    }
  }

  const ConfigFiles& files_;
  const Sections known_ = KnownSections();
  std::vector<std::string> names_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> FindUnknownOptions(const ConfigFiles& files) {
  return Finder(files).Find();
}

bool IsKnownOption(const std::string& section, const std::string& option) {
  if (section.starts_with(kPool)) return true;
  return std::find(std::begin(kKnown), std::end(kKnown),
                   std::pair<std::string_view, std::string_view>(section, option)) !=
         std::end(kKnown);
}

}  // namespace kuryr
