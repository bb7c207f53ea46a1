#include "tests/controller/neutron_cloud.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <utility>

namespace kuryr::test {
namespace {

using nlohmann::json;

std::vector<std::string> PartsOf(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream in(path.substr(std::string("/v2.0/").size()));
  for (std::string part; std::getline(in, part, '/');) parts.push_back(part);
  return parts;
}

std::string One(const std::string& collection) {
  return collection.substr(0, collection.size() - 1);
}

fake::Answer Json(int status, const json& body) { return {.status = status, .body = body.dump()}; }

fake::Answer NotFound() {
  return Json(404, {{"NeutronError",
                     {{"type", "ThingNotFound"}, {"message", "no such thing"}, {"detail", ""}}}});
}

/// Whether the object matches the query, as far as it has a text of that name.
bool Matches(const json& object, const std::map<std::string, std::string>& query) {
  return std::all_of(query.begin(), query.end(), [&](const auto& filter) {
    const auto field = object.find(filter.first);
    return field == object.end() || !field->is_string() || *field == filter.second;
  });
}

}  // namespace

NeutronCloud::NeutronCloud()
    : server_("127.0.0.1", 0, {}, [this](fake::Connection& connection) { Serve(connection); }) {}

std::string NeutronCloud::url() const {
  return "http://127.0.0.1:" + std::to_string(server_.port());
}

NeutronCloud::Objects NeutronCloud::ListOf(const std::string& collection) const {
  Objects all;
  const auto found = collections_.find(collection);
  if (found == collections_.end()) return all;
  for (const auto& [id, object] : found->second) all.push_back(object);
  return all;
}

NeutronCloud::Objects NeutronCloud::All(const std::string& collection) {
  const MutexLock lock(mutex_);
  return ListOf(collection);
}

void NeutronCloud::PatchAll(const std::string& collection, const json& fields) {
  const MutexLock lock(mutex_);
  for (auto& [id, object] : collections_[collection]) object.merge_patch(fields);
}

bool NeutronCloud::WaitUntil(const std::string& collection,
                             const std::function<bool(const Objects&)>& condition) {
  const MutexLock lock(mutex_);
  return changed_.wait_for(
      mutex_, std::chrono::seconds(30),
      [&]() KURYR_TSA(requires_capability(mutex_)) { return condition(ListOf(collection)); });
}

void NeutronCloud::Serve(fake::Connection& connection) {
  while (const auto request = fake::ReadRequest(connection)) {
    if (!fake::WriteAnswer(connection, Handle(*request), request->KeepAlive())) return;
  }
}

fake::Answer NeutronCloud::Handle(const fake::HttpRequest& request) {
  const std::vector<std::string> path = PartsOf(request.path);
  const json body = request.body.empty() ? json() : json::parse(request.body);
  const MutexLock lock(mutex_);
  changed_.notify_all();
  const std::string& collection = path.at(0);
  if (collection == "extensions")
    return Json(200, {{"extensions", {{{"alias", "tag-ports-during-bulk-creation"}}}}});
  if (collection == "subnetpools")
    return Json(200, {{"subnetpool", {{"id", path.at(1)}, {"ip_version", 4}}}});
  if (collection == "routers") return HandleRouter(path.at(1), path.at(2), body);
  if (path.size() > 1) return HandleOne(request, path);
  if (request.method == "POST")
    return Json(201, {{One(collection), Make(collection, body.at(One(collection)))}});
  Objects found = ListOf(collection);
  std::erase_if(found, [&](const json& object) { return !Matches(object, request.query); });
  return Json(200, {{collection, found}});
}

fake::Answer NeutronCloud::HandleRouter(const std::string& router, const std::string& verb,
                                        const json& body) {
  const json ip = {{"subnet_id", body.at("subnet_id")}};
  const json subnet = collections_["subnets"][body.at("subnet_id").get<std::string>()];
  if (verb == "add_router_interface") {
    (void)Make("ports", {{"device_id", router},
                         {"device_owner", "network:router_interface"},
                         {"network_id", subnet.at("network_id")},
                         {"fixed_ips", json::array({ip})}});
  } else {
    std::erase_if(collections_["ports"], [&](const auto& port) {
      return port.second.at("device_id") == router &&
             port.second.at("fixed_ips")[0].at("subnet_id") == ip.at("subnet_id");
    });
  }
  return Json(200, json::object());
}

fake::Answer NeutronCloud::HandleOne(const fake::HttpRequest& request,
                                     const std::vector<std::string>& path) {
  Collection& collection = collections_[path[0]];
  const auto found = collection.find(path[1]);
  if (found == collection.end()) return NotFound();
  if (request.method == "DELETE") {
    collection.erase(found);
    return {.status = 204};
  }
  if (request.method == "PUT") {
    const json body = json::parse(request.body);
    found->second.merge_patch(path.size() > 2 ? body : body.at(One(path[0])));
  }
  return Json(200, {{One(path[0]), found->second}});
}

json NeutronCloud::Make(const std::string& collection, json fields) {
  char id[40];
  (void)std::snprintf(id, sizeof id, "7d51c3a9-5e9f-4a9e-b1c6-%012x", ++made_);
  fields["id"] = id;
  fields.emplace("description", "");
  if (collection == "ports") {
    char mac[20];
    (void)std::snprintf(mac, sizeof mac, "fa:16:3e:00:00:%02x", made_ & 0xffU);
    fields.update({{"mac_address", mac},
                   {"status", "ACTIVE"},
                   {"binding:vif_type", "ovs"},
                   {"binding:vif_details", {{"port_filter", true}}}});
    for (json& ip : fields["fixed_ips"])
      ip.emplace("ip_address", "10.20.0." + std::to_string(made_ + 1));
  } else if (collection == "networks") {
    fields.update({{"mtu", 1442}, {"subnets", json::array()}});
  } else {
    fields.update({{"cidr", "10.20.0.0/16"}, {"gateway_ip", "10.20.0.1"}});
    collections_["networks"][fields.at("network_id").get<std::string>()]["subnets"].push_back(id);
  }
  return collections_[collection][id] = std::move(fields);
}

}  // namespace kuryr::test
