#include "controller/plan/security_groups.h"

#include <algorithm>

#include "base/annotation_text.h"
#include "base/error.h"
#include "base/names.h"
#include "controller/plan/plan_error.h"

namespace kuryr::controller {
namespace {

constexpr size_t kMostGroups = 16;

}  // namespace

std::vector<std::string> SecurityGroupsIn(const std::string& annotation) {
  std::vector<std::string> groups = ListItems(annotation);
  const bool is_well =
      groups.size() <= kMostGroups && std::all_of(groups.begin(), groups.end(), IsUuid);
  if (is_well) return groups;
  throw PlanError(PlanError::Kind::kRefused,
                  "annotation " + std::string(kSecurityGroupsAnnotation) + ": \"" +
                      Printable(annotation) + "\"; expected up to 16 UUIDs, separated by commas");
}

}  // namespace kuryr::controller
