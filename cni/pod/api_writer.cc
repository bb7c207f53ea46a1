#include "cni/pod/api_writer.h"

#include "base/json.h"

namespace kuryr::cni {
namespace {

/// Sets the UID of an Event's pod, which older runtimes do not send.
void FillUid(watcher::ApiClient& client, nlohmann::json& involved) {
  if (involved.contains("uid")) return;
  const nlohmann::json pod = client.Get("/api/v1/namespaces/" + StringAt(involved, "namespace") +
                                        "/pods/" + StringAt(involved, "name"));
  involved["uid"] = pod.at("metadata").at("uid");
}

}  // namespace

watcher::ApiConfig ForWrites(watcher::ApiConfig config) {
  config.connect_timeout = std::chrono::seconds(2);
  config.read_timeout = std::chrono::seconds(2);
  return config;
}

void Send(ApiWrite write, watcher::ApiClient& client) {
  if (write.kind == ApiWrite::Kind::kMergePatch) {
    client.Patch(write.path, watcher::PatchType::kMerge, write.body);
    return;
  }
  if (write.body.contains("involvedObject")) FillUid(client, write.body["involvedObject"]);
  client.Post(write.path, write.body);
}

}  // namespace kuryr::cni
