#include "binding/netlink/nl_transaction.h"

#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "binding/netlink/nl_error.h"
#include "tests/support/netns_fixture.h"

namespace kuryr::binding {
namespace {

using NlTransactionTest = test::NetnsTest;

NlMsgPtr AskFor(const std::string& link) {
  NlMsgPtr request = Owned<NlMsgPtr>(nlmsg_alloc_simple(RTM_GETLINK, 0));
  ifinfomsg header{};
  nlmsg_append(request.get(), &header, sizeof header, NLMSG_ALIGNTO);
  nla_put_string(request.get(), IFLA_IFNAME, link.c_str());
  return request;
}

TEST_F(NlTransactionTest, AnswersOfAnAbandonedRequestAreSkipped) {
  const NlSocketPtr socket = OpenNlSocket(NETLINK_ROUTE);
  ASSERT_GT(nl_send_auto(socket.get(), AskFor("lo").get()), 0);

  const NlAnswer answer = Transact(*socket, *AskFor("tap0"), "find link tap0");

  EXPECT_EQ(answer.error, ENODEV);
  EXPECT_EQ(answer.object, nullptr);
}

TEST(NlErrorTest, CodesOfTheLibraryCompareWithErrc) {
  try {
    CheckNl(-NLE_EXIST, "build it");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::file_exists);
    EXPECT_STREQ(error.what(), "build it: Object exists");
  }
  EXPECT_EQ(std::error_code(NLE_NOMEM, NlCategory()), std::errc::not_enough_memory);
  EXPECT_NE(std::error_code(NLE_PARSE_ERR, NlCategory()), std::errc::invalid_argument);
  EXPECT_NO_THROW(CheckNl(3, "send it"));
}

}  // namespace
}  // namespace kuryr::binding
