#include "cni/attachments/attachment_record.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace kuryr::cni {

std::string ToString(const AttachmentKey& key) {
  return key.network + ":" + key.container_id + ":" + key.ifname;
}

std::optional<AttachmentKey> ParseAttachmentKey(const std::string& text) {
  const size_t first = text.find(':');
  const size_t last = text.rfind(':');
  if (first == last) return std::nullopt;
  return AttachmentKey{text.substr(0, first), text.substr(first + 1, last - first - 1),
                       text.substr(last + 1)};
}

binding::Attachment AttachmentRecord::attachment() const {
  return {.network = key.network,
          .container_id = key.container_id,
          .ifname = key.ifname,
          .pod = pod,
          .pod_uid = pod_uid,
          .netns = netns,
          .netns_id = netns_id};
}

bool HasProducer(const AttachmentRecord& record) {
  return std::all_of(record.vifs.begin(), record.vifs.end(), [](const vif::PodVif& pod_vif) {
    const vif::VifBase& vif = vif::Common(pod_vif.vif);
    if (!vif.network.has_value() || !vif.id.has_value()) return true;
    return vif.network->id.value_or("") != *vif.id;
  });
}

namespace {

nlohmann::ordered_json PlugsJson(const AttachmentRecord& record) {
  nlohmann::ordered_json plugs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < record.plugs.size(); ++i) {
    const binding::Plug& plug = record.plugs[i];
    plugs.push_back({{"driver", plug.driver},
                     {"ifname", plug.ifname},
                     {"host_interface", plug.host_interface},
                     {"bridge", plug.bridge},
                     {"device", plug.device}});
    if (record.changing.contains(plug.ifname)) plugs.back()["changing"] = true;
    if (record.later.contains(plug.ifname)) plugs.back()["later"] = true;
    if (i >= record.vifs.size()) continue;
    plugs.back()["is_default"] = record.vifs[i].is_default;
    plugs.back()["vif"] = vif::EncodeVif(record.vifs[i].vif, vif::Changes::kOmit);
  }
  return plugs;
}

nlohmann::ordered_json LimitJson(const binding::RateLimit& limit) {
  return {{"rate", limit.rate}, {"burst", limit.burst}};
}

/// nlohmann makes a T of any number, also of one that no T can hold.
template <typename T>
T NumberAt(const nlohmann::json& object, const char* key) {
  const nlohmann::json& number = object.at(key);
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<T>::max());
  if (!number.is_number_unsigned() || number.get<uint64_t>() > kMost)
    throw ParseError(std::string("$.") + key, "is no number from 0 to " + std::to_string(kMost));
  return number.get<T>();
}

/// Zeros without the key: earlier records have none.
binding::RateLimit LimitAt(const nlohmann::json& record, const char* key) {
  if (!record.contains(key)) return {};
  const nlohmann::json& limit = record.at(key);
  return {.rate = NumberAt<uint64_t>(limit, "rate"), .burst = NumberAt<uint64_t>(limit, "burst")};
}

void TakePlug(const nlohmann::json& plug, AttachmentRecord& record) {
  record.plugs.push_back({plug.at("driver"), plug.at("ifname"), plug.at("host_interface"),
                          plug.at("bridge"),
                          // Records of version 0.1 have neither this nor the VIF.
                          plug.value("device", "")});
  if (plug.value("changing", false)) record.changing.insert(record.plugs.back().ifname);
  if (plug.value("later", false)) record.later.insert(record.plugs.back().ifname);
  if (!plug.contains("vif")) return;
  record.vifs.push_back({.ifname = record.plugs.back().ifname,
                         .is_default = plug.at("is_default"),
                         .vif = vif::DecodeVif(plug.at("vif"), "$.plugs.vif")});
}

}  // namespace

std::string ToJson(const AttachmentRecord& record) {
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
      {"trace_id", record.trace_id},
      {"plugs", PlugsJson(record)},
      {"received_limit", LimitJson(record.limits.received)},
      {"sent_limit", LimitJson(record.limits.sent)},
      {"delegate_config", record.delegate_config},
  };
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

AttachmentRecord ParseAttachmentRecord(std::string_view text) {
  try {
    // A configuration of 1 MiB, as text within text.
    const nlohmann::json json = ParseJson(text, {.max_bytes = size_t{8} << 20});
    AttachmentRecord record;
    record.key = {json.at("network"), json.at("container_id"), json.at("ifname")};
    record.added = json.at("added");
    record.netns = json.at("netns");
    record.netns_id = {NumberAt<dev_t>(json, "netns_device"), NumberAt<ino_t>(json, "netns_inode")};
    record.pod = json.at("pod");
    record.pod_uid = json.at("pod_uid");
    record.boot_id = json.at("boot_id");
    record.owner = {NumberAt<pid_t>(json, "owner_pid"),
                    NumberAt<uint64_t>(json, "owner_start_time")};
    record.trace_id = json.value("trace_id", "");
    for (const nlohmann::json& plug : json.at("plugs")) TakePlug(plug, record);
    record.limits = {.received = LimitAt(json, "received_limit"),
                     .sent = LimitAt(json, "sent_limit")};
    record.delegate_config = json.value("delegate_config", "");
    return record;
  } catch (const nlohmann::json::exception& e) {
    throw ParseError("$", e.what());
  }
}

}  // namespace kuryr::cni
