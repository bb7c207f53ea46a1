#include "binding/netlink/nl_transaction.h"

#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/handlers.h>
#include <netlink/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
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

/// The words of another process to `victim` in the kernel's name: done, and found nothing. errno.
int Forge(nl_sock& victim, uint32_t sequence) {
  const struct {
    nlmsghdr header;
    nlmsgerr error;
  } forged = {.header = {.nlmsg_len = sizeof forged,
                         .nlmsg_type = NLMSG_ERROR,
                         .nlmsg_flags = 0,
                         .nlmsg_seq = sequence,
                         .nlmsg_pid = nl_socket_get_local_port(&victim)},
              .error = {}};
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl to{.nl_family = AF_NETLINK};
  to.nl_pid = nl_socket_get_local_port(&victim);
  const ssize_t sent = ::sendto(socket.get(), &forged, sizeof forged, 0,
                                reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return sent < 0 ? errno : 0;
}

TEST_F(NlTransactionTest, AnswersOfOtherProcessesAreRefused) {
  const NlSocketPtr socket = OpenNlSocket(NETLINK_ROUTE);

  EXPECT_EQ(Forge(*socket, 1), ECONNREFUSED);
}

TEST_F(NlTransactionTest, AnswersOfOtherProcessesThatCameBeforeTheSocketWasConnectedAreSkipped) {
  const NlSocketPtr socket = Owned<NlSocketPtr>(nl_socket_alloc());
  CheckNl(nl_connect(socket.get(), NETLINK_ROUTE), "open a socket");
  const uint32_t next = nl_socket_use_seq(socket.get()) + 1;
  ASSERT_EQ(Forge(*socket, next), 0);

  const NlMsgPtr request = AskFor("lo");
  const NlAnswer answer = Transact(*socket, *request, "find link lo");

  ASSERT_EQ(nlmsg_hdr(request.get())->nlmsg_seq, next);
  EXPECT_EQ(answer.error, 0);
  EXPECT_NE(answer.object, nullptr);
}

TEST_F(NlTransactionTest, LostAnswerIsNotWaitedForWithoutEnd) {
  const NlSocketPtr socket = OpenNlSocket(NETLINK_ROUTE);
  const int fd = nl_socket_get_fd(socket.get());
  timeval wait{};
  socklen_t length = sizeof wait;
  ASSERT_EQ(::getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, &length), 0);
  EXPECT_EQ(wait.tv_sec, 60);

  wait = {.tv_usec = 1000};
  ASSERT_EQ(::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), 0);
  nl_cb* const callbacks = nl_socket_get_cb(socket.get());
  nl_cb_overwrite_send(callbacks, [](nl_sock*, nl_msg*) { return 0; });
  nl_cb_put(callbacks);
  try {
    (void)Transact(*socket, *AskFor("lo"), "find link lo");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::timed_out);
    EXPECT_STREQ(error.what(), "find link lo: the kernel does not answer: Connection timed out");
  }
}

TEST(NlAnswerTest, SuccessWithoutTheObjectIsAnError) {
  try {
    (void)ObjectOf(NlAnswer{}, "find link lo");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::protocol_error);
  }
}

std::atomic<int> being_sent;
std::atomic<bool> kernel_is_free;

/// As if another process held the kernel's lock.
int SendWhenFree(nl_sock* /*socket*/, nl_msg* /*request*/) {
  ++being_sent;
  being_sent.notify_all();
  kernel_is_free.wait(false);
  return -NLE_AGAIN;
}

void AskBusyKernel() {
  const NlSocketPtr socket = OpenNlSocket(NETLINK_ROUTE);
  nl_cb* const callbacks = nl_socket_get_cb(socket.get());
  nl_cb_overwrite_send(callbacks, SendWhenFree);
  nl_cb_put(callbacks);
  EXPECT_THROW((void)Transact(*socket, *AskFor("lo"), "find link lo"), std::system_error);
}

TEST_F(NlTransactionTest, EightThreadsAskTheKernelAtOnceAndDeletionsDoNotWaitForThem) {
  constexpr int kThreads = 24;
  constexpr int kMostAtOnce = 8;
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(AskBusyKernel);
  for (int seen = being_sent; seen < kMostAtOnce; seen = being_sent) being_sent.wait(seen);

  const NlSocketPtr socket = OpenNlSocket(NETLINK_ROUTE);
  const NlMsgPtr deletion = Owned<NlMsgPtr>(nlmsg_alloc_simple(RTM_DELLINK, 0));
  ifinfomsg header{.ifi_index = 1 << 30};
  nlmsg_append(deletion.get(), &header, sizeof header, NLMSG_ALIGNTO);
  const NlAnswer answer = Transact(*socket, *deletion, "delete a link");

  EXPECT_EQ(answer.error, ENODEV);
  EXPECT_EQ(being_sent, kMostAtOnce);
  kernel_is_free = true;
  kernel_is_free.notify_all();
  threads.clear();
  EXPECT_EQ(being_sent, kThreads);
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
