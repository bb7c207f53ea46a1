#include "watcher/api_source.h"

#include <exception>
#include <sstream>
#include <utility>

#include "base/log.h"
#include "watcher/credentials.h"

namespace kuryr::watcher {
namespace {

std::vector<std::string> SplitFiles(const std::string& files) {
  std::vector<std::string> names;
  std::istringstream list(files);
  for (std::string name; std::getline(list, name, ':');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

}  // namespace

ApiSource::ApiSource(const std::string& files, Read read)
    : files_(SplitFiles(files)),
      read_(std::move(read)),
      version_(Version()),
      newest_(std::make_shared<const ApiConfig>(read_())) {}

std::shared_ptr<const ApiConfig> ApiSource::Newest() {
  const MutexLock lock(mutex_);
  // The version is taken before reading, so that a write meanwhile gives another version.
  std::string version = Version();
  if (version != version_) {
    version_ = std::move(version);
    ReadAnew();
  }
  return newest_;
}

std::string ApiSource::Version() const {
  std::string version;
  for (const std::string& file : files_) version += FileVersion(file);
  return version;
}

void ApiSource::ReadAnew() {
  try {
    newest_ = std::make_shared<const ApiConfig>(read_());
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning,
        "the kubeconfig has changed and cannot be taken; what it said before counts",
        {{"error", e.what()}});
    return;
  }
  Log(LogLevel::kInfo, "the kubeconfig has changed and is read anew",
      {{"api_root", newest_->api_root}});
  WarnOfInsecureApi(*newest_, files_.front());
}

}  // namespace kuryr::watcher
