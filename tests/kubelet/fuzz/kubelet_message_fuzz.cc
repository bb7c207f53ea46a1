#include <cstddef>
#include <cstdint>
#include <string>

#include "kubelet/deviceplugin.pb.h"
#include "kubelet/frame.h"
#include "kubelet/podresources.pb.h"
#include "kubelet/status.h"
#include "kubelet/timeout.h"
#include "tests/kubelet/fuzz/socket_pair.h"

namespace kuryr::kubelet {
namespace {

/// A message that was read is written so that reading it again gives the same.
template <typename Message>
void CheckMessage(const std::string& bytes) {
  Message message;
  if (!message.ParseFromString(bytes)) return;
  const std::string written = message.SerializeAsString();
  Message again;
  Require(again.ParseFromString(written) && again.SerializeAsString().size() == written.size());
}

void CheckFrame(const std::string& bytes) {
  FrameReader reader(bytes.size());
  reader.Add(bytes.substr(0, bytes.size() / 2));
  reader.Add(bytes.substr(bytes.size() / 2));
  Require(Frame(reader.Take()) == bytes);
}

}  // namespace
}  // namespace kuryr::kubelet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr::kubelet;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  CheckMessage<v1::ListPodResourcesResponse>(bytes);
  CheckMessage<v1::GetPodResourcesResponse>(bytes);
  CheckMessage<v1beta1::AllocateRequest>(bytes);
  CheckMessage<v1beta1::PreferredAllocationRequest>(bytes);
  Require(PercentDecode(PercentEncode(bytes)) == bytes);
  (void)PercentDecode(bytes);
  (void)ParseTimeout(bytes);
  (void)ParseStatusCode(bytes);
  try {
    CheckFrame(bytes);
  } catch (const CallError& e) {
    Require(e.status().code != StatusCode::kOk);
  }
  return 0;
}
