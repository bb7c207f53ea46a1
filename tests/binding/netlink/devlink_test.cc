#include "binding/netlink/devlink.h"

#include <gtest/gtest.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>

#include <cstring>
#include <string>
#include <string_view>

#include "tests/support/netns_fixture.h"

namespace kuryr::binding {
namespace {

constexpr uint16_t kFamily = 21;

/// As netlink(7) lays it out: length and type, the payload, zeros up to a multiple of 4.
std::string Attribute(uint16_t type, std::string_view payload) {
  const auto length = static_cast<uint16_t>(4 + payload.size());
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  std::memcpy(bytes.data() + sizeof length, &type, sizeof type);
  bytes += payload;
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return bytes;
}

std::string Text(uint16_t type, const std::string& text) {
  return Attribute(type, {text.c_str(), text.size() + 1});
}

std::string Version(uint16_t kind, const std::string& name, const std::string& value) {
  return Attribute(kind, Text(DEVLINK_ATTR_INFO_VERSION_NAME, name) +
                             Text(DEVLINK_ATTR_INFO_VERSION_VALUE, value));
}

/// The bytes behind the netlink header.
NlMsgPtr Message(const std::string& payload) {
  std::string bytes(NLMSG_HDRLEN, '\0');
  const nlmsghdr header{.nlmsg_len = static_cast<uint32_t>(NLMSG_HDRLEN + payload.size()),
                        .nlmsg_type = kFamily,
                        .nlmsg_flags = 0,
                        .nlmsg_seq = 1,
                        .nlmsg_pid = 0};
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes += payload;
  return Owned<NlMsgPtr>(nlmsg_convert(reinterpret_cast<nlmsghdr*>(bytes.data())));
}

/// Command 51, version 1, as the driver ice answers.
std::string AnswerOfIce() {
  return std::string("\x33\x01\0\0", 4) + Text(DEVLINK_ATTR_BUS_NAME, "pci") +
         Text(DEVLINK_ATTR_DEV_NAME, "0000:af:00.0") + Text(DEVLINK_ATTR_INFO_DRIVER_NAME, "ice") +
         Version(DEVLINK_ATTR_INFO_VERSION_FIXED, "board.id", "K65390-000") +
         Version(DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.app", "1.3.10.0") +
         Version(DEVLINK_ATTR_INFO_VERSION_STORED, "fw.app.name", "ICE OS Default Package") +
         Version(DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.app.name", "ICE Wireless Edge Package");
}

TEST(DevlinkTest, RunningVersionIsReadByItsName) {
  const NlMsgPtr answer = Message(AnswerOfIce());

  EXPECT_EQ(ParseRunningVersion(*answer, "fw.app.name"), "ICE Wireless Edge Package");
  EXPECT_EQ(ParseRunningVersion(*answer, "fw.app"), "1.3.10.0");
  EXPECT_EQ(ParseRunningVersion(*answer, "board.id"), "") << "it is fixed";
  EXPECT_EQ(ParseRunningVersion(*answer, "fw.psid"), "");
}

TEST(DevlinkTest, WhatIsCutOffOrMalformedTellsNothing) {
  const std::string whole = AnswerOfIce();
  for (size_t size = 0; size + 4 < whole.size(); ++size)
    EXPECT_EQ(ParseRunningVersion(*Message(whole.substr(0, size)), "fw.app.name"), "") << size;

  const std::string head = whole.substr(0, 4);
  const std::string name = Text(DEVLINK_ATTR_INFO_VERSION_NAME, "fw.app.name");
  const auto parsed = [&](const std::string& version) {
    return ParseRunningVersion(
        *Message(head + Attribute(DEVLINK_ATTR_INFO_VERSION_RUNNING, version)), "fw.app.name");
  };
  EXPECT_EQ(parsed(""), "");
  EXPECT_EQ(parsed(name), "") << "no value";
  EXPECT_EQ(parsed(Text(DEVLINK_ATTR_INFO_VERSION_VALUE, "no name")), "");
  EXPECT_EQ(parsed(name + Attribute(DEVLINK_ATTR_INFO_VERSION_VALUE, "no zero")), "no zero");
}

TEST(DevlinkTest, RequestNamesTheFunctionOfThePciBus) {
  const NlMsgPtr request = DevlinkInfoRequest(kFamily, "0000:af:00.0");

  const nlmsghdr* header = nlmsg_hdr(request.get());
  EXPECT_EQ(header->nlmsg_type, kFamily);
  EXPECT_EQ(std::string(static_cast<const char*>(nlmsg_data(header)),
                        static_cast<size_t>(nlmsg_datalen(header))),
            std::string("\x33\x01\0\0", 4) + Text(DEVLINK_ATTR_BUS_NAME, "pci") +
                Text(DEVLINK_ATTR_DEV_NAME, "0000:af:00.0"));
}

using DevlinkInNetnsTest = test::NetnsTest;

/// With or without devlink in the kernel.
TEST_F(DevlinkInNetnsTest, FunctionThatIsNotThereTellsNothing) {
  EXPECT_EQ(FindRunningVersion("ffff:ff:1f.7", "fw.app.name"), "");
}

}  // namespace
}  // namespace kuryr::binding
