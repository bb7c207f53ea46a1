#include <csignal>
#include <iostream>
#include <thread>

#include "tests/controller/election/candidate.h"

/// leader_probe API_ROOT CA_FILE TOKEN_FILE IDENTITY: a candidate that prints what happens to it,
/// and on SIGUSR1 whether it may write.
int main(int /*count*/, char* words[]) {
  using namespace kuryr::controller;

  sigset_t asked;
  ::sigemptyset(&asked);
  ::sigaddset(&asked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &asked, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  LeaderElection election(
      {.api_root = words[1], .ca = {.file = words[2]}, .token = {.file = words[3]}},
      Hasty(words[4]));
  std::cout << "a candidate" << std::endl;
  const std::jthread candidate([&](const std::stop_token& stop) {
    while (election.Acquire(stop)) {
      std::cout << "leads" << std::endl;
      election.HoldUntilLost(stop);
      std::cout << "leads no more" << std::endl;
    }
  });
  for (int signal = 0; ::sigwait(&asked, &signal) == 0;)
    std::cout << (election.MayWrite() ? "may write" : "may not write") << std::endl;
}
