#include "config/node_network_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/names.h"

namespace kuryr {
namespace {

/// Kubernetes' own default of --service-cluster-ip-range is 10.0.0.0/24; kubeadm's is this.
constexpr const char* kServices = "10.96.0.0/12";

void TakeNetworks(Option option, std::vector<IpNetwork>& target) {
  if (!option.value) return;
  std::replace(option.value->begin(), option.value->end(), '\n', ',');
  std::vector<std::string> texts;
  Take(option, texts);
  target.clear();
  for (const std::string& text : texts) {
    const auto network = IpNetwork::Parse(text);
    if (!network || text.find('/') == std::string::npos)
      Refuse(option.where, "\"" + Printable(text) +
                               "\" is no network: expected ADDRESS/LENGTH, several by comma");
    if (network->Masked() != *network)
      Refuse(option.where,
             Printable(text) + " has host bits; the network is " + network->Masked().ToString());
    target.push_back(*network);
  }
}

}  // namespace

NodeNetworkOptions ReadNodeNetwork(const ConfigFiles& files) {
  const Option interface = files.Find("node_network", "interface");
  NodeNetworkOptions options;
  options.service_cidrs = {IpNetwork::Parse(kServices).value()};
  Take(files.Find("node_network", "enabled"), options.enabled);
  Take(interface, options.interface);
  if (!IsLinkName(options.interface) || options.interface.find('%') != std::string::npos)
    Refuse(interface.where, "\"" + Printable(options.interface) + "\" is no interface name (" +
                                kLinkNameRule + ", no '%')");
  TakeNetworks(files.Find("node_network", "service_cidrs"), options.service_cidrs);
  Take(files.Find("node_network", "masquerade"), options.masquerade);
  TakeNetworks(files.Find("node_network", "non_masquerade_cidrs"), options.non_masquerade_cidrs);
  Take(files.Find("node_network", "routes"), options.routes);
  Take(files.Find("node_network", "policies"), options.policies);
  return options;
}

}  // namespace kuryr
