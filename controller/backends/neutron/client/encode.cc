#include "controller/backends/neutron/client/encode.h"

#include <nlohmann/json.hpp>

namespace kuryr::controller::neutron {

using nlohmann::json;

namespace {

void AddText(json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

json EncodeFixedIp(const FixedIpRequest& request) {
  json object = json::object();
  AddText(object, "subnet_id", request.subnet_id);
  if (request.address) object["ip_address"] = request.address->ToString();
  return object;
}

}  // namespace

json EncodePortRequest(const PortRequest& request) {
  json port = {{"network_id", request.network_id}, {"admin_state_up", request.admin_state_up}};
  AddText(port, "project_id", request.project_id);
  AddText(port, "name", request.name);
  AddText(port, "description", request.description);
  AddText(port, "device_id", request.device_id);
  AddText(port, "device_owner", request.device_owner);
  AddText(port, "binding:host_id", request.host_id);
  if (request.mac) port["mac_address"] = request.mac->ToString();
  for (const FixedIpRequest& fixed_ip : request.fixed_ips)
    port["fixed_ips"].push_back(EncodeFixedIp(fixed_ip));
  if (request.security_groups) port["security_groups"] = *request.security_groups;
  if (!request.tags.empty()) port["tags"] = request.tags;
  if (!request.sends_from.empty()) {
    std::vector<AddressPair> pairs;
    pairs.reserve(request.sends_from.size());
    for (const IpNetwork& network : request.sends_from) pairs.push_back({.network = network});
    port["allowed_address_pairs"] = EncodeAddressPairs(pairs);
  }
  return port;
}

json EncodePortUpdate(const PortUpdate& update) {
  json port = json::object();
  if (update.name) port["name"] = *update.name;
  if (update.description) port["description"] = *update.description;
  if (update.device_id) port["device_id"] = *update.device_id;
  if (update.host_id) port["binding:host_id"] = *update.host_id;
  if (update.security_groups) port["security_groups"] = *update.security_groups;
  return port;
}

json EncodeNetworkRequest(const NetworkRequest& request) {
  json network = {{"name", request.name}};
  AddText(network, "project_id", request.project_id);
  AddText(network, "description", request.description);
  return network;
}

json EncodeSubnetRequest(const SubnetRequest& request) {
  json subnet = {{"network_id", request.network_id},
                 {"name", request.name},
                 {"subnetpool_id", request.pool.id},
                 {"ip_version", request.pool.family == IpFamily::kIpv6 ? 6 : 4},
                 {"enable_dhcp", false}};
  AddText(subnet, "project_id", request.project_id);
  return subnet;
}

json EncodeSecurityGroupRequest(const SecurityGroupRequest& request) {
  json group = {{"name", request.name}};
  AddText(group, "project_id", request.project_id);
  AddText(group, "description", request.description);
  return group;
}

json EncodeSecurityRuleRequest(const SecurityRuleRequest& request) {
  const SecurityRule& rule = request.rule;
  json encoded = {{"security_group_id", request.group_id},
                  {"direction", rule.is_ingress ? "ingress" : "egress"},
                  {"ethertype", rule.family == IpFamily::kIpv6 ? "IPv6" : "IPv4"}};
  AddText(encoded, "protocol", rule.protocol);
  AddText(encoded, "remote_group_id", rule.remote_group);
  if (rule.remote_net) encoded["remote_ip_prefix"] = rule.remote_net->ToString();
  if (rule.last_port == 0) return encoded;
  encoded["port_range_min"] = rule.first_port;
  encoded["port_range_max"] = rule.last_port;
  return encoded;
}

json EncodeSubPort(const SubPort& sub_port) {
  return {{"port_id", sub_port.port_id},
          {"segmentation_type", "vlan"},
          {"segmentation_id", sub_port.vlan}};
}

json EncodeAddressPairs(const std::vector<AddressPair>& pairs) {
  json list = json::array();
  for (const AddressPair& pair : pairs) {
    const IpNetwork& network = pair.network;
    const bool is_single = network.prefix_length == network.address.size() * 8;
    list.push_back({{"ip_address", is_single ? network.address.ToString() : network.ToString()}});
    if (pair.mac) list.back()["mac_address"] = pair.mac->ToString();
  }
  return list;
}

}  // namespace kuryr::controller::neutron
