#include "tests/controller/backends/neutron/client/cloud_fixture.h"

#include <array>
#include <ctime>

namespace kuryr::controller::neutron {
namespace {

std::string TimeText(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.000000Z", &parts);
  return text.data();
}

}  // namespace

void CloudFixture::GrantToken(const std::string& token, std::chrono::seconds lifetime) {
  // A time long past: the client must not compare it with its own clock.
  constexpr std::time_t kIssued = 1'000'000'000;
  const nlohmann::json endpoint = {
      {"interface", "public"}, {"region_id", "RegionOne"}, {"url", neutron_.url()}};
  const nlohmann::json answer = {{"issued_at", TimeText(kIssued)},
                                 {"expires_at", TimeText(kIssued + lifetime.count())},
                                 {"project", {{"id", kProjectId}}},
                                 {"catalog", {{{"type", "network"}, {"endpoints", {endpoint}}}}}};
  keystone_.Answer(201, nlohmann::json{{"token", answer}}.dump(), {{"X-Subject-Token", token}});
}

NeutronConfig CloudFixture::Config() const {
  NeutronConfig config;
  config.identity = {.auth_url = keystone_.url() + "/v3",
                     .user = {.name = "kuryr", .domain_name = "Default"},
                     .password = "REDACTED",
                     .project = {.name = "k8s", .domain_name = "Default"}};
  return config;
}

NeutronClient& CloudFixture::Client() {
  GrantToken("first");
  client_ = std::make_unique<NeutronClient>(Config(), &observed_);
  return *client_;
}

NeutronClient& CloudFixture::ClientWithoutKeystone(
    const std::function<void(NeutronConfig&)>& change) {
  NeutronConfig config;
  config.identity.method = Identity::Method::kNone;
  config.endpoint_override = neutron_.url();
  change(config);
  client_ = std::make_unique<NeutronClient>(config, &observed_);
  return *client_;
}

}  // namespace kuryr::controller::neutron
