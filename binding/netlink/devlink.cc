#include "binding/netlink/devlink.h"

#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>

#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/nl_value.h"

namespace kuryr::binding {
namespace {

constexpr const char* kBuildInfo = "build a request to devlink";
constexpr uint8_t kControlVersion = 1;

NlMsgPtr GenericRequest(uint16_t family, const genlmsghdr& header) {
  NlMsgPtr message = Owned<NlMsgPtr>(nlmsg_alloc_simple(family, 0));
  genlmsghdr copy = header;
  CheckNl(nlmsg_append(message.get(), &copy, sizeof copy, NLMSG_ALIGNTO), kBuildInfo);
  return message;
}

void PutString(nl_msg& message, int type, const std::string& text) {
  CheckNl(nla_put_string(&message, type, text.c_str()), kBuildInfo);
}

/// nullopt: the kernel has no devlink.
std::optional<uint16_t> FindFamily(nl_sock& socket) {
  const std::string what = "find devlink";
  const NlMsgPtr request = GenericRequest(
      GENL_ID_CTRL, {.cmd = CTRL_CMD_GETFAMILY, .version = kControlVersion, .reserved = 0});
  PutString(*request, CTRL_ATTR_FAMILY_NAME, DEVLINK_GENL_NAME);
  const NlAnswer answer = Transact(socket, *request, what);
  if (answer.error == ENOENT) return std::nullopt;
  nlmsghdr* found = nlmsg_hdr(&ObjectOf(answer, what));
  return NumberIn<uint16_t>(nlmsg_find_attr(found, sizeof(genlmsghdr), CTRL_ATTR_FAMILY_ID));
}

}  // namespace

std::string FindRunningVersion(const std::string& function, const std::string& name) {
  const NlSocketPtr socket = OpenNlSocket(NETLINK_GENERIC);
  const auto family = FindFamily(*socket);
  if (!family) return {};
  const NlMsgPtr request = DevlinkInfoRequest(*family, function);
  const NlAnswer answer = Transact(*socket, *request, "ask devlink for " + function);
  return answer.object ? ParseRunningVersion(*answer.object, name) : "";
}

NlMsgPtr DevlinkInfoRequest(uint16_t family, const std::string& function) {
  NlMsgPtr request = GenericRequest(
      family, {.cmd = DEVLINK_CMD_INFO_GET, .version = DEVLINK_GENL_VERSION, .reserved = 0});
  PutString(*request, DEVLINK_ATTR_BUS_NAME, "pci");
  PutString(*request, DEVLINK_ATTR_DEV_NAME, function);
  return request;
}

std::string ParseRunningVersion(nl_msg& info, const std::string& name) {
  nlmsghdr* header = nlmsg_hdr(&info);
  int left = nlmsg_attrlen(header, sizeof(genlmsghdr));
  for (nlattr* each = nlmsg_attrdata(header, sizeof(genlmsghdr)); nla_ok(each, left) != 0;
       each = nla_next(each, &left)) {
    std::array<nlattr*, DEVLINK_ATTR_INFO_VERSION_VALUE + 1> version{};
    if (nla_type(each) != DEVLINK_ATTR_INFO_VERSION_RUNNING) continue;
    if (nla_parse_nested(version.data(), version.size() - 1, each, nullptr) < 0) continue;
    if (TextIn(version[DEVLINK_ATTR_INFO_VERSION_NAME]) == name)
      return TextIn(version[DEVLINK_ATTR_INFO_VERSION_VALUE]);
  }
  return {};
}

}  // namespace kuryr::binding
