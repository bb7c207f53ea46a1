#include "watcher/kubeconfig.h"

#include <fcntl.h>
#include <unistd.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/base64.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "watcher/api_root.h"

namespace kuryr::watcher {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

/// The remedy for a user that is not supported.
constexpr const char* kOtherIdentity =
    "; give the user a token, a tokenFile or a client certificate, or name a token_file in "
    "kuryr.conf";

bool IsReadable(const std::string& file) { return ::access(file.c_str(), R_OK) == 0; }

/// A mapping of a kubeconfig.
class Object {
 public:
  /// `where` is the mapping's name in messages.
  Object(std::string file, std::string where, const YAML::Node& fields)
      : file_(std::move(file)), where_(std::move(where)), fields_(fields) {
    if (!fields_.IsMap() && !fields_.IsNull()) throw ParseError(where_, "is no mapping");
  }

  [[noreturn]] void Refuse(const std::string& key, const std::string& why) const {
    throw ParseError(where_ + ": " + key, why);
  }

  /// Null when there is none.
  [[nodiscard]] YAML::Node Find(const std::string& key) const {
    YAML::Node found;
    for (const auto& field : fields_) {
      if (!field.first.IsScalar() || field.first.Scalar() != key) continue;
      if (!found.IsNull()) Refuse(key, "stands there twice");
      found.reset(field.second);
    }
    return found;
  }

  [[nodiscard]] bool Has(const std::string& key) const {
    const YAML::Node node = Find(key);
    return !node.IsNull() && !(node.IsScalar() && node.Scalar().empty());
  }

  [[nodiscard]] std::string Text(const std::string& key) const {
    const YAML::Node node = Find(key);
    if (node.IsNull()) return "";
    if (!node.IsScalar()) Refuse(key, "is no string");
    return node.Scalar();
  }

  [[nodiscard]] bool Flag(const std::string& key) const {
    const YAML::Node node = Find(key);
    bool value = false;
    if (!node.IsNull() && !YAML::convert<bool>::decode(node, value)) {
      Refuse(key, "is no boolean; expected true or false");
    }
    return value;
  }

  [[nodiscard]] std::string Path(const std::string& key) const {
    const std::string path = Text(key);
    if (path.empty()) return "";
    return std::filesystem::absolute(file_).parent_path() / path;
  }

  /// `key` names a file, `key`-data has its content.
  [[nodiscard]] Secret Pem(const std::string& key) const {
    Secret pem = {.file = Path(key)};
    const std::string data = Text(key + "-data");
    if (data.empty()) {
      if (!pem.file.empty() && !IsReadable(pem.file)) RefuseFile(key, pem.file);
      return pem;
    }
    if (!pem.file.empty()) Refuse(key, "is set beside " + key + "-data; keep one of them");
    const auto decoded = DecodeBase64(data);
    if (!decoded) Refuse(key + "-data", "is no base64");
    pem.value = *decoded;
    return pem;
  }

  [[noreturn]] void RefuseFile(const std::string& key, const std::string& path) const {
    Refuse(key, "cannot read " + Printable(path, 200) + ": " + std::strerror(errno));
  }

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  std::string file_;
  std::string where_;
  YAML::Node fields_;
};

using Documents = std::vector<Object>;

YAML::Node ParseYaml(const std::string& where, std::string_view text) {
  try {
    return YAML::Load(std::string(text));
  } catch (const YAML::DeepRecursion&) {
    throw ParseError(where, "is nested too deeply");
  } catch (const YAML::Exception& e) {
    // The message leaves out yaml-cpp's text after the colon, which is text of the document.
    throw ParseError(where, "malformed YAML at line " + std::to_string(e.mark.line + 1) +
                                ", column " + std::to_string(e.mark.column + 1) + ": " +
                                e.msg.substr(0, e.msg.find(':')));
  }
}

Object ParseDocument(const std::string& file, std::string_view text) {
  const std::string where = "kubeconfig " + Printable(file, 200);
  if (text.size() > kMaxBytes) throw ParseError(where, "is larger than 1 MiB");
  Object document(file, where, ParseYaml(where, text));
  for (const auto& [key, value] : {std::pair("apiVersion", "v1"), std::pair("kind", "Config")}) {
    if (document.Has(key) && document.Text(key) != value) {
      document.Refuse(key,
                      "\"" + Printable(document.Text(key)) + "\" is not known; expected " + value);
    }
  }
  return document;
}

/// Reads a file; empty if it does not exist.
std::optional<std::string> ReadIfThere(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::nullopt;
  std::string text;
  std::array<char, 16384> buffer{};
  ssize_t size = fd ? 0 : -1;
  while (fd && (size = ::read(fd.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(size));
    if (text.size() > kMaxBytes) break;
  }
  if (size < 0) {
    throw ParseError("kubeconfig " + Printable(file, 200),
                     std::string("cannot be read: ") + std::strerror(errno));
  }
  return text;
}

Documents ReadDocuments(const std::string& files) {
  Documents documents;
  for (size_t begin = 0; begin <= files.size();) {
    const size_t end = std::min(files.find(':', begin), files.size());
    const std::string file = files.substr(begin, end - begin);
    begin = end + 1;
    if (file.empty()) continue;
    if (const auto text = ReadIfThere(file)) documents.push_back(ParseDocument(file, *text));
  }
  if (documents.empty()) {
    throw ParseError("kubeconfig " + Printable(files, 200), "there is no such file");
  }
  return documents;
}

/// The cluster, user or context of that name.
std::optional<Object> FindNamed(const Documents& documents, const std::string& kind,
                                const std::string& name) {
  const std::string list = kind + "s";
  for (const Object& document : documents) {
    const YAML::Node entries = document.Find(list);
    if (!entries.IsNull() && !entries.IsSequence()) document.Refuse(list, "is no list");
    std::optional<Object> found;
    for (const YAML::Node& node : entries) {
      const Object entry(document.file(), document.where() + ": " + list, node);
      if (entry.Text("name") != name) continue;
      const std::string where = document.where() + ": " + kind + " \"" + Printable(name) + "\"";
      if (found) throw ParseError(where, "stands there twice");
      found = Object(document.file(), where, entry.Find(kind));
    }
    if (found) return found;
  }
  return std::nullopt;
}

Object CurrentContext(const Documents& documents) {
  for (const Object& document : documents) {
    const std::string name = document.Text("current-context");
    if (name.empty()) continue;
    if (auto context = FindNamed(documents, "context", name)) return *context;
    document.Refuse("current-context", "there is no context \"" + Printable(name) +
                                           "\"; kubectl config get-contexts lists them");
  }
  documents.front().Refuse("current-context",
                           "is not set; kubectl config use-context NAME sets it");
}

/// The object that the context refers to: its cluster or its user.
Object Referred(const Documents& documents, const Object& context, const std::string& kind) {
  const std::string name = context.Text(kind);
  if (name.empty()) context.Refuse(kind, "is not set");
  auto object = FindNamed(documents, kind, name);
  if (!object) context.Refuse(kind, "there is no " + kind + " \"" + Printable(name) + "\"");
  return *object;
}

void TakeCluster(const Object& cluster, ApiConfig& api) {
  if (cluster.Has("proxy-url")) {
    cluster.Refuse("proxy-url",
                   "proxies are not supported; name a server that is reached directly");
  }
  api.api_root = cluster.Text("server");
  try {
    (void)ApiRoot::Parse(api.api_root);
  } catch (const ParseError& e) {
    cluster.Refuse("server", e.reason());
  }
  api.tls_server_name = cluster.Text("tls-server-name");
  api.ca = cluster.Pem("certificate-authority");
  api.verify_server = !cluster.Flag("insecure-skip-tls-verify");
  if (!api.verify_server && !api.ca.empty()) {
    cluster.Refuse("insecure-skip-tls-verify",
                   "is on beside a certificate authority; remove one of them");
  }
}

/// A user's token. As in client-go, tokenFile wins, and `token` is used while the file is missing.
Secret TokenOf(const Object& user) {
  const std::string file = user.Path("tokenFile");
  const std::string token = user.Text("token");
  if (!file.empty() && IsReadable(file)) return {.file = file};
  if (!file.empty() && token.empty()) user.RefuseFile("tokenFile", file);
  return {.value = token};
}

void TakeUser(const Object& user, ApiConfig& api) {
  for (const char* plugin : {"exec", "auth-provider"}) {
    if (user.Has(plugin))
      user.Refuse(plugin, std::string("credential plugins are not run") + kOtherIdentity);
  }
  for (const char* password : {"username", "password"}) {
    if (user.Has(password))
      user.Refuse(password, std::string("the API server takes no passwords") + kOtherIdentity);
  }
  for (const char* other : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    if (user.Has(other))
      user.Refuse(other, std::string("impersonation is not supported") + kOtherIdentity);
  }
  api.token = TokenOf(user);
  api.client_cert = user.Pem("client-certificate");
  if (api.client_cert.empty()) return;
  api.client_key = user.Pem("client-key");
  if (api.client_key.empty()) user.Refuse("client-key", "is missing beside the client certificate");
}

ApiConfig ClusterOf(const Documents& documents) {
  ApiConfig api;
  TakeCluster(Referred(documents, CurrentContext(documents), "cluster"), api);
  return api;
}

ApiConfig ClusterAndUserOf(const Documents& documents) {
  ApiConfig api = ClusterOf(documents);
  TakeUser(Referred(documents, CurrentContext(documents), "user"), api);
  return api;
}

}  // namespace

ApiConfig LoadKubeconfig(const std::string& files) {
  return ClusterAndUserOf(ReadDocuments(files));
}

ApiConfig LoadKubeconfigCluster(const std::string& files) {
  return ClusterOf(ReadDocuments(files));
}

ApiConfig ParseKubeconfig(const std::string& file, std::string_view text) {
  return ClusterAndUserOf({ParseDocument(file, text)});
}

}  // namespace kuryr::watcher
