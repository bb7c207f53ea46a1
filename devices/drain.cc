#include "devices/drain.h"

#include <string>
#include <system_error>

#include "base/error.h"
#include "binding/devices/pod_folder.h"

namespace kuryr::devices {
namespace {

constexpr const char* kFile = "kuryr-devices.drain";

}  // namespace

bool Drain::is_on() const {
  const auto folder = binding::PodFolder::OpenIfExists(folder_);
  return folder && folder->Read(kFile);
}

void Drain::Begin() const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) ThrowErrno(error.value(), "create " + folder_.string());
  binding::PodFolder(folder_, "[devices] devinfo_dir").Write(kFile, "");
}

void Drain::End() const {
  if (const auto folder = binding::PodFolder::OpenIfExists(folder_)) folder->Remove(kFile);
}

}  // namespace kuryr::devices
