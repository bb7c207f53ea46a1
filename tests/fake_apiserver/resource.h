#pragma once

#include <string>
#include <vector>

namespace kuryr::fake {

/// A kind of object that the server keeps.
struct Resource {
  std::string group;  // empty: the core group
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;
  /// The status is changed through /status only, and everything else through the object only.
  bool has_status = false;
  bool custom = false;
  /// Fields that a fieldSelector may name beside metadata.name and metadata.namespace.
  std::vector<std::string> selectable_fields;

  /// "v1", "openstack.org/v1".
  [[nodiscard]] std::string ApiVersion() const;
  /// "pods", "kuryrports.openstack.org": how messages name it.
  [[nodiscard]] std::string QualifiedName() const;
  /// "/api/v1", "/apis/openstack.org/v1".
  [[nodiscard]] std::string Root() const;
};

/// Those that Kubernetes has and kuryr watches or writes.
[[nodiscard]] std::vector<Resource> BuiltInResources();
/// openstack.org/v1 kuryrports.
[[nodiscard]] Resource KuryrPorts();

/// The meaning of a request.
struct RequestInfo {
  const Resource* resource = nullptr;
  std::string ns;  // empty: cluster-wide
  std::string name;
  std::string subresource;
  std::string verb;  // get list watch create update patch delete
};

}  // namespace kuryr::fake
