// A client that reads lists of any length.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/controller/backends/neutron/client/cloud_fixture.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// A list's pages, each with as many networks.
class LongListTest : public CloudFixture {
 protected:
  void AnswerPages(int pages, int networks, bool is_over = true) {
    for (int page = 0; page < pages; ++page) {
      std::string body = R"({"networks": [)";
      for (int i = 0; i < networks; ++i) body += (i == 0 ? "" : ",") + NextNetwork();
      const bool is_last = is_over && page + 1 == pages;
      body += is_last ? "]}" : R"(], "networks_links": [{"rel": "next", "href": "x"}]})";
      neutron_.Answer(200, body);
    }
  }
  std::string NextNetwork() {
    std::string number = std::to_string(++networks_);
    number.insert(0, 12 - number.size(), '0');
    return R"({"id": "68898a73-c91b-40c7-9a6f-)" + number + "\"}";
  }
  NeutronClient& ClientWith(const ListLimits& limits) {
    NeutronConfig config;
    config.identity.method = Identity::Method::kNone;
    config.endpoint_override = neutron_.url();
    return client_.emplace(config, &observed_, limits);
  }

  int networks_ = 0;
  std::optional<NeutronClient> client_;
};

TEST_F(LongListTest, ObjectsOfAllPagesAreBounded) {
  NeutronClient& client = ClientWith({.objects = 200});
  AnswerPages(2, 100);
  EXPECT_THAT(client.ListNetworks({}), SizeIs(200));
  AnswerPages(2, 100, false);
  AnswerPages(1, 1, false);

  const auto failure = FailureOf([&] { (void)client.ListNetworks({}); });

  EXPECT_EQ(failure.value().kind(), Kind::kUnavailable);
  EXPECT_THAT(failure->what(), AllOf(HasSubstr("list networks: "), HasSubstr("200 objects"),
                                     HasSubstr("[neutron_defaults] project")));
}

TEST_F(LongListTest, BytesOfAllPagesAreBounded) {
  const size_t page = 45 + 100 * 46;
  AnswerPages(2, 100);
  NeutronClient& client = ClientWith({.bytes = 3 * page});
  EXPECT_THAT(client.ListNetworks({}), SizeIs(200));
  AnswerPages(4, 100, false);

  const auto failure = FailureOf([&] { (void)client.ListNetworks({}); });

  EXPECT_EQ(failure.value().kind(), Kind::kUnavailable);
  EXPECT_THAT(failure->what(), AllOf(HasSubstr(std::to_string(3 * page) + " bytes"),
                                     HasSubstr("resource_tags that no other has")));
}

}  // namespace
}  // namespace kuryr::controller::neutron
