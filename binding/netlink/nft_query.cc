#include "binding/netlink/nft_query.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/attr.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <system_error>

#include "base/error.h"
#include "binding/netlink/nft_message.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/nl_value.h"

namespace kuryr::binding {
namespace {

/// Type 0 is nft's comment; it skips what it does not know.
constexpr char kNoteType = 'k';

/// Asks for objects of a table; `fill` adds what narrows the question.
void DumpOf(int type, const std::string& what, const std::function<void(nl_msg&)>& fill,
            const std::function<void(nlmsghdr&)>& take) {
  const NlMsgPtr request = NftMessage(type, NLM_F_DUMP);
  fill(*request);
  Dump(*OpenNlSocket(NETLINK_NETFILTER), *request, what, take);
}

/// The note in a rule's user data; empty where it has none.
std::string NoteOf(nlmsghdr& rule) {
  const nlattr* data = nlmsg_find_attr(&rule, sizeof(nfgenmsg), NFTA_RULE_USERDATA);
  const std::string_view bytes = data == nullptr
                                     ? std::string_view()
                                     : std::string_view(static_cast<const char*>(nla_data(data)),
                                                        static_cast<size_t>(nla_len(data)));
  return bytes.starts_with(kNoteType) && bytes.size() > 1 ? std::string(bytes.substr(2)) : "";
}

const nlattr* Inside(const nlattr* nest, int attribute) {
  return nest == nullptr ? nullptr
                         : nla_find(static_cast<nlattr*>(nla_data(nest)), nla_len(nest), attribute);
}

std::optional<IpAddress> AddressIn(const nlattr* value) {
  for (const IpFamily family : {IpFamily::kIpv4, IpFamily::kIpv6}) {
    IpAddress address{.family = family};
    if (value == nullptr || static_cast<size_t>(nla_len(value)) != address.size()) continue;
    std::copy_n(static_cast<const uint8_t*>(nla_data(value)), address.size(),
                address.bytes.begin());
    return address;
  }
  return std::nullopt;
}

}  // namespace

std::string NoteData(const std::string& note) {
  return std::string{kNoteType, static_cast<char>(note.size())} + note;
}

uint32_t RulesetGeneration(const std::string& what) {
  const NlMsgPtr request = NftMessage(NFT_MSG_GETGEN, 0);
  const NlAnswer answer = Transact(*OpenNlSocket(NETLINK_NETFILTER), *request, what);
  CheckAnswer(answer, what);
  const nlattr* id = answer.object == nullptr ? nullptr
                                              : nlmsg_find_attr(nlmsg_hdr(answer.object.get()),
                                                                sizeof(nfgenmsg), NFTA_GEN_ID);
  const auto number = NumberIn<uint32_t>(id);
  if (!number) ThrowErrno(EPROTO, what + ": read the ruleset's generation");
  return ntohl(*number);
}

std::vector<std::string> NotesIn(const std::string& table, const std::string& chain,
                                 const std::string& what) {
  std::vector<std::string> notes;
  DumpOf(
      NFT_MSG_GETRULE, what,
      [&](nl_msg& request) {
        PutText(request, NFTA_RULE_TABLE, table);
        PutText(request, NFTA_RULE_CHAIN, chain);
      },
      [&](nlmsghdr& rule) { notes.push_back(NoteOf(rule)); });
  return notes;
}

std::map<std::string, std::vector<std::string>> NotesOfTable(const std::string& table,
                                                             const std::string& what) {
  std::map<std::string, std::vector<std::string>> notes;
  DumpOf(
      NFT_MSG_GETRULE, what, [&](nl_msg& request) { PutText(request, NFTA_RULE_TABLE, table); },
      [&](nlmsghdr& rule) {
        notes[TextIn(nlmsg_find_attr(&rule, sizeof(nfgenmsg), NFTA_RULE_CHAIN))].push_back(
            NoteOf(rule));
      });
  return notes;
}

std::set<IpAddress> AddressesIn(const std::string& table, const std::string& set,
                                const std::string& what) {
  std::set<IpAddress> addresses;
  const auto take = [&](nlmsghdr& message) {
    const nlattr* list = nlmsg_find_attr(&message, sizeof(nfgenmsg), NFTA_SET_ELEM_LIST_ELEMENTS);
    int left = list == nullptr ? 0 : nla_len(list);
    auto* element = list == nullptr ? nullptr : static_cast<nlattr*>(nla_data(list));
    for (; nla_ok(element, left) != 0; element = nla_next(element, &left)) {
      if (const auto address =
              AddressIn(Inside(Inside(element, NFTA_SET_ELEM_KEY), NFTA_DATA_VALUE)))
        addresses.insert(*address);
    }
  };
  try {
    DumpOf(
        NFT_MSG_GETSETELEM, what,
        [&](nl_msg& request) {
          PutText(request, NFTA_SET_ELEM_LIST_TABLE, table);
          PutText(request, NFTA_SET_ELEM_LIST_SET, set);
        },
        take);
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::no_such_file_or_directory) throw;
  }
  return addresses;
}

bool HasNotes(const std::string& table, const std::string& chain,
              std::span<const std::string> notes, const std::string& what) {
  return std::ranges::equal(NotesIn(table, chain, what), notes);
}

}  // namespace kuryr::binding
