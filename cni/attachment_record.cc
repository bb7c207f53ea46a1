#include "cni/attachment_record.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace kuryr::cni {

binding::Attachment AttachmentRecord::attachment() const {
  return {.network = key.network,
          .container_id = key.container_id,
          .ifname = key.ifname,
          .pod = pod,
          .pod_uid = pod_uid,
          .netns = netns,
          .netns_id = netns_id};
}

std::string ToJson(const AttachmentRecord& record) {
  nlohmann::ordered_json plugs = nlohmann::ordered_json::array();
  for (const binding::Plug& plug : record.plugs) {
    plugs.push_back({{"driver", plug.driver},
                     {"ifname", plug.ifname},
                     {"host_interface", plug.host_interface},
                     {"bridge", plug.bridge},
                     {"device", plug.device}});
  }
  const nlohmann::ordered_json json = {
      {"network", record.key.network},
      {"container_id", record.key.container_id},
      {"ifname", record.key.ifname},
      {"added", record.added},
      {"netns", record.netns},
      {"netns_device", record.netns_id.device},
      {"netns_inode", record.netns_id.inode},
      {"pod", record.pod},
      {"pod_uid", record.pod_uid},
      {"boot_id", record.boot_id},
      {"owner_pid", record.owner.pid},
      {"owner_start_time", record.owner.start_time},
      {"plugs", std::move(plugs)},
  };
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

AttachmentRecord ParseAttachmentRecord(std::string_view text) {
  try {
    const nlohmann::json json = ParseJson(text);
    AttachmentRecord record;
    record.key = {json.at("network"), json.at("container_id"), json.at("ifname")};
    record.added = json.at("added");
    record.netns = json.at("netns");
    record.netns_id = {json.at("netns_device"), json.at("netns_inode")};
    record.pod = json.at("pod");
    record.pod_uid = json.at("pod_uid");
    record.boot_id = json.at("boot_id");
    record.owner = {json.at("owner_pid"), json.at("owner_start_time")};
    for (const nlohmann::json& plug : json.at("plugs")) {
      record.plugs.push_back({plug.at("driver"), plug.at("ifname"), plug.at("host_interface"),
                              plug.at("bridge"),
                              // Records of version 0.1 have none.
                              plug.value("device", "")});
    }
    return record;
  } catch (const nlohmann::json::exception& e) {
    throw ParseError("$", e.what());
  }
}

}  // namespace kuryr::cni
