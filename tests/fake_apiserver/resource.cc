#include "tests/fake_apiserver/resource.h"

namespace kuryr::fake {

std::string Resource::ApiVersion() const { return group.empty() ? version : group + "/" + version; }

std::string Resource::QualifiedName() const {
  return group.empty() ? plural : plural + "." + group;
}

std::string Resource::Root() const {
  return group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
}

std::vector<Resource> BuiltInResources() {
  return {
      {.version = "v1",
       .plural = "pods",
       .kind = "Pod",
       .has_status = true,
       .selectable_fields = {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                             "spec.serviceAccountName", "status.phase", "status.podIP"}},
      {.version = "v1",
       .plural = "events",
       .kind = "Event",
       .selectable_fields = {"involvedObject.kind", "involvedObject.namespace",
                             "involvedObject.name", "involvedObject.uid", "reason", "source",
                             "type"}},
      {.version = "v1",
       .plural = "nodes",
       .kind = "Node",
       .namespaced = false,
       .has_status = true,
       .selectable_fields = {"spec.unschedulable"}},
      {.version = "v1",
       .plural = "namespaces",
       .kind = "Namespace",
       .namespaced = false,
       .has_status = true,
       .selectable_fields = {"status.phase"}},
      {.version = "v1", .plural = "services", .kind = "Service"},
      {.group = "discovery.k8s.io",
       .version = "v1",
       .plural = "endpointslices",
       .kind = "EndpointSlice"},
      {.group = "certificates.k8s.io",
       .version = "v1",
       .plural = "certificatesigningrequests",
       .kind = "CertificateSigningRequest",
       .namespaced = false,
       .has_status = true},
      {.group = "networking.k8s.io",
       .version = "v1",
       .plural = "networkpolicies",
       .kind = "NetworkPolicy"},
  };
}

Resource KuryrPorts() {
  return {.group = "openstack.org",
          .version = "v1",
          .plural = "kuryrports",
          .kind = "KuryrPort",
          .has_status = true,
          .custom = true};
}

}  // namespace kuryr::fake
