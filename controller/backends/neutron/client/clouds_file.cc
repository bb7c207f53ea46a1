#include "controller/backends/neutron/client/clouds_file.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace kuryr::controller::neutron {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

/// Where clouds.yaml has another name for an option than kuryr.conf.
constexpr std::pair<const char*, const char*> kOtherNames[] = {
    {"cacert", "cafile"},
    {"cert", "certfile"},
    {"key", "keyfile"},
    {"network_endpoint_override", "endpoint_override"}};

std::string OptionOf(const std::string& key) {
  for (const auto& [theirs, ours] : kOtherNames) {
    if (key == theirs) return ours;
  }
  return key;
}

/// A mapping of a clouds.yaml.
class Object {
 public:
  /// `where` is what messages call it.
  Object(std::string where, const YAML::Node& fields) : where_(std::move(where)), fields_(fields) {
    if (!fields_.IsMap() && !fields_.IsNull()) Refuse(where_, "is no mapping");
  }

  /// nullopt: the key is absent, or its value is null.
  [[nodiscard]] std::optional<Object> Find(const std::string& key) const {
    std::optional<Object> found;
    for (const auto& field : fields_) {
      if (!field.first.IsScalar() || field.first.Scalar() != key) continue;
      if (found) Refuse(where_ + ": " + Printable(key), "stands there twice");
      if (!field.second.IsNull()) found.emplace(where_ + ": " + Printable(key), field.second);
    }
    return found;
  }

  /// Adds its texts to `options`; values of other kinds are none of the options that we read.
  void AddTexts(CloudOptions& options) const {
    for (const auto& field : fields_) {
      if (!field.first.IsScalar() || !field.second.IsScalar()) continue;
      const std::string& key = field.first.Scalar();
      options[OptionOf(key)] = {where_ + ": " + Printable(key), field.second.Scalar()};
    }
  }

 private:
  std::string where_;
  YAML::Node fields_;
};

YAML::Node ParseYaml(const std::string& where, const std::string& text) {
  if (text.size() > kMaxBytes) Refuse(where, "is larger than 1 MiB");
  try {
    return YAML::Load(text);
  } catch (const YAML::DeepRecursion&) {
    Refuse(where, "is nested too deeply");
  } catch (const YAML::Exception& e) {
    // The text of yaml-cpp's error may quote a secret.
    Refuse(where, "malformed YAML at line " + std::to_string(e.mark.line + 1) + ", column " +
                      std::to_string(e.mark.column + 1));
  }
}

/// verify: false is keystoneauth's insecure.
void TakeVerify(CloudOptions& options) {
  const auto verify = options.find("verify");
  if (verify == options.end()) return;
  bool value = true;
  Take(verify->second, value);
  options["insecure"] = {verify->second.where, value ? "false" : "true"};
}

std::string ReadText(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() <= kMaxBytes && (in.read(buffer.data(), buffer.size()) || in.gcount() > 0))
    text.append(buffer.data(), static_cast<size_t>(in.gcount()));
  if (!in.is_open()) Refuse(file, "cannot be read");
  return text;
}

std::vector<std::filesystem::path> Folders(const GetEnv& getenv) {
  std::vector<std::filesystem::path> folders = {"."};
  const Option home = Variable(getenv, "HOME");
  if (home.set()) folders.push_back(std::filesystem::path(*home.value) / ".config/openstack");
  folders.emplace_back("/etc/openstack");
  return folders;
}

/// The file that `variable` names, or the first of that name; nothing where there is none.
std::optional<std::string> FindFile(const GetEnv& getenv, const char* variable, const char* name) {
  const Option named = Variable(getenv, variable);
  if (named.set()) return named.value;
  for (const std::filesystem::path& folder : Folders(getenv)) {
    for (const char* ending : {".yaml", ".yml"}) {
      const std::filesystem::path file = folder / (std::string(name) + ending);
      std::error_code error;
      if (std::filesystem::exists(file, error)) return file.string();
    }
  }
  return std::nullopt;
}

/// False where the file says nothing of the cloud.
bool AddCloud(const std::string& file, const std::string& text, const std::string& cloud,
              CloudOptions& options) {
  const std::optional<Object> clouds = Object(file, ParseYaml(file, text)).Find("clouds");
  const std::optional<Object> ours = clouds ? clouds->Find(cloud) : std::nullopt;
  if (!ours) return false;
  ours->AddTexts(options);
  if (const std::optional<Object> auth = ours->Find("auth")) auth->AddTexts(options);
  if (const auto profile = options.find("profile"); profile != options.end())
    Refuse(profile->second.where, "profiles are not known here; write their values into the cloud");
  TakeVerify(options);
  return true;
}

}  // namespace

CloudOptions ParseCloud(const std::string& file, const std::string& text,
                        const std::string& cloud) {
  CloudOptions options;
  if (!AddCloud(file, text, cloud, options))
    Refuse(file, "there is no cloud \"" + Printable(cloud) + "\"");
  return options;
}

CloudOptions LoadCloud(const std::string& cloud, const GetEnv& getenv) {
  const auto file = FindFile(getenv, "OS_CLIENT_CONFIG_FILE", "clouds");
  if (!file) {
    Refuse("cloud \"" + Printable(cloud) + "\"",
           "there is no clouds.yaml in the present folder, ~/.config/openstack and /etc/openstack; "
           "OS_CLIENT_CONFIG_FILE names another");
  }
  CloudOptions options = ParseCloud(*file, ReadText(*file), cloud);
  if (const auto secure = FindFile(getenv, "OS_CLIENT_SECURE_FILE", "secure"))
    AddCloud(*secure, ReadText(*secure), cloud, options);
  return options;
}

}  // namespace kuryr::controller::neutron
