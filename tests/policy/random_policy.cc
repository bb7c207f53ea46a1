#include "random_policy.h"

namespace kuryr::policy {

using nlohmann::json;

const std::vector<RandomPolicy::Choices>& RandomPolicy::OfPods() {
  static const std::vector<Choices> kChoices = {{"app", {"web", "db", "cache"}},
                                                {"tier", {"front", "back"}}};
  return kChoices;
}

const std::vector<RandomPolicy::Choices>& RandomPolicy::OfNamespaces() {
  static const std::vector<Choices> kChoices = {{"team", {"x", "y"}}, {"env", {"live", "test"}}};
  return kChoices;
}

const std::vector<RandomPolicy::Choices>& RandomPolicy::OfNodes() {
  static const std::vector<Choices> kChoices = {{"zone", {"one", "two"}}, {"edge", {"yes"}}};
  return kChoices;
}

std::string RandomPolicy::DefinitionNames() {
  std::string names;
  for (size_t i = 1 + Number(2); i > 0; --i) {
    names += names.empty() ? "" : ",";
    names += OneOf<const char*>({"a", "b", "n0/a", "n1/b"});
  }
  return names;
}

json RandomPolicy::PodLabels() { return Labels(OfPods()); }
json RandomPolicy::NamespaceLabels() { return Labels(OfNamespaces()); }
json RandomPolicy::NodeLabels() { return Labels(OfNodes()); }

json RandomPolicy::Labels(const std::vector<Choices>& all) {
  json labels = json::object();
  for (const auto& [key, values] : all) {
    if (Chance(80)) labels[key] = values[Number(values.size())];
  }
  return labels;
}

json RandomPolicy::Selector(const std::vector<Choices>& all) {
  json selector = json::object();
  if (Chance(20)) return selector;
  const auto& [key, values] = all[Number(all.size())];
  if (Chance(60)) selector["matchLabels"][key] = values[Number(values.size())];
  if (Chance(40)) {
    const auto& [other_key, others] = all[Number(all.size())];
    const auto* op = OneOf<const char*>({"In", "NotIn", "Exists", "DoesNotExist"});
    json expression = {{"key", other_key}, {"operator", op}};
    if (expression["operator"] == "In" || expression["operator"] == "NotIn") {
      for (size_t i = 0; i <= Number(2); ++i)
        expression["values"].push_back(others[Number(others.size())]);
    }
    selector["matchExpressions"].push_back(expression);
  }
  return selector;
}

json RandomPolicy::Peer() {
  json peer = json::object();
  switch (Number(4)) {
    case 0:
      peer["podSelector"] = Selector(OfPods());
      return peer;
    case 1:
      peer["namespaceSelector"] = Selector(OfNamespaces());
      return peer;
    case 2:
      peer["namespaceSelector"] = Selector(OfNamespaces());
      peer["podSelector"] = Selector(OfPods());
      return peer;
    default:
      break;
  }
  const auto* cidr = OneOf<const char*>(
      {"0.0.0.0/0", "10.0.0.0/8", "10.0.1.7/24", "10.0.2.1/32", "192.0.2.0/24", "10.0.0.0/15"});
  peer["ipBlock"]["cidr"] = cidr;
  const std::string text = cidr;
  if (text == "0.0.0.0/0" || text == "10.0.0.0/8" || text == "10.0.0.0/15") {
    for (size_t i = 0; i < Number(3); ++i) {
      peer["ipBlock"]["except"].push_back(
          OneOf<const char*>({"10.0.1.0/24", "10.0.2.4/30", "10.0.3.0/24"}));
    }
  }
  return peer;
}

json RandomPolicy::Port() {
  json port = json::object();
  if (Chance(60)) port["protocol"] = OneOf<const char*>({"TCP", "UDP", "SCTP"});
  if (Chance(15)) return port;
  if (Chance(40)) {
    port["port"] = OneOf<const char*>({"http", "dns", "alt"});
    return port;
  }
  const int first = OneOf({53, 80, 81, 8080});
  port["port"] = first;
  if (Chance(25)) port["endPort"] = first + OneOf({0, 1, 8000});
  return port;
}

json RandomPolicy::Rule(const char* peers_key) {
  json rule = json::object();
  if (Chance(80)) {
    rule[peers_key] = json::array();
    for (size_t i = Number(8) == 0 ? 0 : 1 + Number(2); i > 0; --i)
      rule[peers_key].push_back(Peer());
  }
  if (Chance(70)) {
    rule["ports"] = json::array();
    for (size_t i = Number(8) == 0 ? 0 : 1 + Number(3); i > 0; --i) rule["ports"].push_back(Port());
  }
  return rule;
}

void RandomPolicy::AddRules(json& spec, const char* key, const char* peers_key) {
  if (Chance(30)) return;
  spec[key] = json::array();
  for (size_t i = Number(3); i > 0; --i) spec[key].push_back(Rule(peers_key));
}

json RandomPolicy::Spec() {
  json spec = {{"podSelector", Selector(OfPods())}};
  const char* types =
      OneOf<const char*>({"", "[]", R"(["Ingress"])", R"(["Egress"])", R"(["Ingress", "Egress"])"});
  if (*types != '\0') spec["policyTypes"] = json::parse(types);
  AddRules(spec, "ingress", "from");
  AddRules(spec, "egress", "to");
  return spec;
}

json RandomPolicy::AdminPods() {
  if (Chance(50)) return {{"namespaces", Selector(OfNamespaces())}};
  return {{"pods",
           {{"namespaceSelector", Selector(OfNamespaces())}, {"podSelector", Selector(OfPods())}}}};
}

json RandomPolicy::AdminPort() {
  const char* const protocol = OneOf<const char*>({"TCP", "UDP", "SCTP"});
  const int first = OneOf({53, 80, 81, 8080});
  switch (Number(3)) {
    case 0:
      return {{"portNumber", {{"protocol", protocol}, {"port", first}}}};
    case 1:
      return {{"portRange",
               {{"protocol", protocol}, {"start", first}, {"end", first + OneOf({0, 1, 8000})}}}};
    default:
      return {{"namedPort", OneOf<const char*>({"http", "dns", "alt"})}};
  }
}

json RandomPolicy::Protocol() {
  if (Chance(30)) return {{"destinationNamedPort", OneOf<const char*>({"http", "dns", "alt"})}};
  const int first = OneOf({53, 80, 81, 8080});
  const json port = Chance(50)
                        ? json{{"number", first}}
                        : json{{"range", {{"start", first}, {"end", first + OneOf({1, 8000})}}}};
  return {{OneOf<const char*>({"tcp", "udp", "sctp"}), {{"destinationPort", port}}}};
}

json RandomPolicy::AdminPeer(bool is_egress) {
  if (is_egress && Chance(30))
    return {{"networks",
             {OneOf<const char*>(
                 {"0.0.0.0/0", "10.0.0.0/8", "10.0.2.1/32", "192.0.2.0/24", "10.0.0.0/15"})}}};
  if (is_egress && Chance(30)) return {{"nodes", Selector(OfNodes())}};
  return AdminPods();
}

json RandomPolicy::AdminRule(const char* peers_key, const std::string& kind) {
  const bool is_cluster = kind == "ClusterNetworkPolicy";
  const char* const allow = is_cluster ? "Accept" : "Allow";
  json rule = {{"action", kind == "BaselineAdminNetworkPolicy"
                              ? OneOf<const char*>({allow, "Deny"})
                              : OneOf<const char*>({allow, "Deny", "Pass", "Pass"})}};
  for (size_t i = 1 + Number(2); i > 0; --i)
    rule[peers_key].push_back(AdminPeer(*peers_key == 't'));
  if (Chance(40)) {
    for (size_t i = 1 + Number(2); i > 0; --i)
      rule[is_cluster ? "protocols" : "ports"].push_back(is_cluster ? Protocol() : AdminPort());
  }
  return rule;
}

json RandomPolicy::AdminSpec(const std::string& kind) {
  json spec = {{"subject", AdminPods()}};
  if (kind == "ClusterNetworkPolicy") spec["tier"] = OneOf<const char*>({"Admin", "Baseline"});
  if (kind != "BaselineAdminNetworkPolicy") spec["priority"] = OneOf({0, 5, 10, 1000});
  for (size_t i = Number(4); i > 0; --i) spec["ingress"].push_back(AdminRule("from", kind));
  for (size_t i = Number(4); i > 0; --i) spec["egress"].push_back(AdminRule("to", kind));
  return spec;
}

json RandomPolicy::Containers() {
  json containers = {{{"name", "c"}, {"ports", json::array()}},
                     {{"name", "d"}, {"ports", json::array()}}};
  for (size_t i = Number(4); i > 0; --i) {
    json port = {{"name", OneOf<const char*>({"http", "dns", "alt"})},
                 {"containerPort", OneOf({53, 80, 81, 8080})}};
    if (Chance(40)) port["protocol"] = OneOf<const char*>({"TCP", "UDP"});
    containers[Number(2)]["ports"].push_back(port);
  }
  return containers;
}

}  // namespace kuryr::policy
