#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace kuryr::policy {

/// Objects of the API, made at random from few labels, ports and addresses, so that they meet.
class RandomPolicy {
 public:
  explicit RandomPolicy(unsigned seed) : engine_(seed) {}

  [[nodiscard]] nlohmann::json Spec();
  /// The spec of an admin's policy of this kind.
  [[nodiscard]] nlohmann::json AdminSpec(const std::string& kind);
  /// The annotation policy-for of a MultiNetworkPolicy.
  [[nodiscard]] std::string DefinitionNames();
  [[nodiscard]] nlohmann::json PodLabels();
  [[nodiscard]] nlohmann::json NamespaceLabels();
  [[nodiscard]] nlohmann::json NodeLabels();
  /// A pod's spec.containers.
  [[nodiscard]] nlohmann::json Containers();

  /// 0 to `count` - 1.
  [[nodiscard]] size_t Number(size_t count) { return engine_() % count; }
  [[nodiscard]] bool Chance(unsigned percent) { return engine_() % 100 < percent; }
  template <typename T>
  [[nodiscard]] T OneOf(std::initializer_list<T> items) {
    return items.begin()[Number(items.size())];
  }

 private:
  struct Choices {
    std::string key;
    std::vector<std::string> values;
  };
  static const std::vector<Choices>& OfPods();
  static const std::vector<Choices>& OfNamespaces();
  static const std::vector<Choices>& OfNodes();

  [[nodiscard]] nlohmann::json Labels(const std::vector<Choices>& all);
  [[nodiscard]] nlohmann::json Selector(const std::vector<Choices>& all);
  [[nodiscard]] nlohmann::json Peer();
  [[nodiscard]] nlohmann::json Port();
  [[nodiscard]] nlohmann::json Rule(const char* peers_key);
  [[nodiscard]] nlohmann::json AdminPods();
  [[nodiscard]] nlohmann::json AdminPeer(bool is_egress);
  [[nodiscard]] nlohmann::json AdminPort();
  [[nodiscard]] nlohmann::json Protocol();
  [[nodiscard]] nlohmann::json AdminRule(const char* peers_key, const std::string& kind);
  void AddRules(nlohmann::json& spec, const char* key, const char* peers_key);

  std::mt19937 engine_;
};

}  // namespace kuryr::policy
