#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "binding/ovs/open_vswitch.h"

namespace kuryr::binding {

/// The rows of a port in the tables QoS and Queue, as operations of RFC 7047. Their external_ids
/// name the port and its owner: other rows are never touched.

/// Appends the row's insertion, with the named UUID "qos", and that of its queue, if any.
void AppendQos(const OvsPort& port, nlohmann::json& operations);
/// Deletes the QoS of the port with these external_ids of its interface: its rows stay when the
/// port goes.
[[nodiscard]] nlohmann::json QosDeletions(const std::string& port, const ExternalIds& port_ids);
/// `operations` without what QosDeletions deletes: the rows stay, and lose the names of port and
/// owner. For rows that another port refers to: ovn-controller gives a tunnel's link the first row
/// of type linux-noop that it finds (OVN 23.03, controller/binding.c, get_noop_qos).
[[nodiscard]] nlohmann::json LeavingQos(nlohmann::json operations);

/// The rows that AppendQos inserts, in words.
[[nodiscard]] std::string ShapingOf(const OvsPort& port);
/// Selects what ShapingIn reads.
[[nodiscard]] nlohmann::json ShapingSelections(const std::string& port);
/// The QoS that the port has, in the words of ShapingOf.
[[nodiscard]] std::string ShapingIn(const nlohmann::json& results);

}  // namespace kuryr::binding
