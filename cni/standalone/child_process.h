#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"

namespace kuryr::cni {

struct ChildOutput {
  int status = 0;   ///< exit status, or 128 + N when ended by signal N
  std::string out;  ///< of stdout, at most 1 MiB: a child that writes more is killed
};

/// Runs `program` in this process's namespaces with `environment` ("NAME=VALUE") and `input` on
/// stdin, to its end; its stderr is ours. No signal is blocked in it. At the deadline it is killed,
/// with the process group that it gets, and std::system_error thrown; so for what cannot be
/// executed.
[[nodiscard]] ChildOutput RunChild(const std::string& program,
                                   const std::vector<std::string>& environment,
                                   const std::string& input, const Deadline& deadline);

/// Starts `program` with our environment in a session of its own, and leaves it alone. The file
/// `input` is its stdin, /dev/null its stdout and stderr. It has no other descriptor of ours: who
/// waits for ours to close does not wait for it. Its signal mask is empty. `arguments` begin with
/// its name. For programs that end soon: nobody reaps it. Throws std::system_error.
void StartDetached(const std::string& program, const std::vector<std::string>& arguments,
                   int input);

}  // namespace kuryr::cni
