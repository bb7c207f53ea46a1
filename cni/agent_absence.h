#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace kuryr::cni {

/// Since when the node's agent has not answered: a note beside its socket. The first STATUS without
/// an answer writes it, since a killed agent writes nothing, and its socket and systemd's stay. An
/// agent removes it when it serves, and so does a STATUS with an answer. The note is late by the
/// time between two STATUS, never early: a node is not called bad too soon. It has the kernel's ID
/// of the boot and CLOCK_BOOTTIME: the clock of files may jump, and a folder may outlive a boot.
/// Processes need no lock, as the last one to write is as right as the first.
class AgentAbsence {
 public:
  /// `socket` is the agent's.
  explicit AgentAbsence(const std::string& socket);

  /// Notes that the agent does not answer, unless a note says so. Returns the note's age, zero for
  /// a new one. Throws std::system_error where the note cannot be written, or others than root may
  /// write it.
  [[nodiscard]] std::chrono::milliseconds Note() const;
  /// The agent answers.
  void End() const noexcept;

 private:
  const std::filesystem::path note_;
};

}  // namespace kuryr::cni
