#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"

namespace kuryr::cni {

struct ChildOutput {
  int status = 0;   ///< exit status, or 128 + N when ended by signal N
  std::string out;  ///< from stdout, at most 1 MiB: a child that writes more is killed
};

/// Runs `program` in this process's namespaces with `environment` ("NAME=VALUE") and `input` on
/// stdin, to its end; its stderr is ours. No signal is blocked in it. At the deadline it is killed,
/// with its own process group, and std::system_error is thrown. Throws std::system_error for a
/// program that cannot be executed.
[[nodiscard]] ChildOutput RunChild(const std::string& program,
                                   const std::vector<std::string>& environment,
                                   const std::string& input, const Deadline& deadline);

/// Starts `program` with our environment in a session of its own, and leaves it alone. The file
/// `input` is its stdin, /dev/null its stdout and stderr. It has no other descriptor of ours, so
/// that no reader of ours waits for its end. Its signal mask is empty. `arguments` begin with its
/// name. For programs that end soon: they are not reaped. Throws std::system_error.
void StartDetached(const std::string& program, const std::vector<std::string>& arguments,
                   int input);

}  // namespace kuryr::cni
