#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "cni/protocol/version.h"

namespace kuryr::cni {

struct ResultInterface {
  std::string name;
  std::string mac;          ///< as the kernel prints it; empty where layer 2 has none
  uint32_t mtu = 0;         ///< bytes; 0: not told
  std::string sandbox;      ///< CNI_NETNS as given; empty for an interface of the host
  std::string socket_path;  ///< absolute, of a vhost-user interface; or empty
  std::string pci_id;       ///< PCI address of a lent device; or empty

  bool operator==(const ResultInterface&) const = default;
};

struct ResultIp {
  IpNetwork address;  ///< host bits kept
  std::optional<IpAddress> gateway;
  std::optional<size_t> interface;  ///< index in Result::interfaces

  bool operator==(const ResultIp&) const = default;
};

struct ResultRoute {
  IpNetwork destination;
  std::optional<IpAddress> gateway;
  std::optional<uint32_t> mtu;
  std::optional<uint32_t> advmss;
  std::optional<uint32_t> priority;
  std::optional<uint32_t> table;
  std::optional<uint32_t> scope;

  bool operator==(const ResultRoute&) const = default;
};

/// The contents of resolv.conf(5).
struct Dns {
  std::vector<std::string> nameservers;
  std::string domain;
  std::vector<std::string> search;
  std::vector<std::string> options;

  [[nodiscard]] bool empty() const { return *this == Dns{}; }
  bool operator==(const Dns&) const = default;
};

/// The result of an ADD (CNI SPEC section 5 "ADD Success"), in the newest form: that of 1.1.0.
struct Result {
  std::vector<ResultInterface> interfaces;
  std::vector<ResultIp> ips;
  std::vector<ResultRoute> routes;
  Dns dns;

  bool operator==(const Result&) const = default;
};

/// The result in the form of `version`, without empty lists. Up to 0.2.0, a result has the first
/// address of each family only; a result without addresses has no form there, and CniError 1 is
/// thrown.
[[nodiscard]] nlohmann::ordered_json EncodeResult(const Result& result, SpecVersion version);

/// Decodes a result of another plugin, or of an earlier call. `fallback` is its version when it
/// names none, as in a prevResult before 1.0.0. Members may be null. Throws ParseError with the
/// path from `path` on, also for a version that is not supported.
[[nodiscard]] Result DecodeResult(const nlohmann::json& object, SpecVersion fallback,
                                  const std::string& path = "$");

/// The answer of a plugin in a chain: all of `previous` (its prevResult), unknown members included,
/// and `added` behind it. `decoded` is what DecodeResult knows of `previous`.
[[nodiscard]] nlohmann::ordered_json AppendResult(const nlohmann::json& previous,
                                                  const Result& decoded, const Result& added,
                                                  SpecVersion version);

/// {"nameservers", "domain", "search", "options"}, each of which may be missing or null.
[[nodiscard]] Dns DecodeDns(const nlohmann::json& object, const std::string& path);

}  // namespace kuryr::cni
