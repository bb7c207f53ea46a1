#include "tests/fake_apiserver/event_stream.h"

#include <algorithm>

#include "tests/fake_apiserver/http_message.h"

namespace kuryr::fake {

bool EventStream::Start(bool keep_alive) {
  return WriteStreamHead(connection_, keep_alive) && AfterEvent();
}

bool EventStream::SendEvent(std::string_view type, const std::string& object) {
  std::string line = "{\"type\":\"";
  line.append(type).append("\",\"object\":").append(object).append("}").append(tamper_.line_end);
  if (!SendRaw(line)) return false;
  ++events_;
  return AfterEvent();
}

bool EventStream::AfterEvent() {
  if (!tamper_.insert.empty() && events_ == tamper_.insert_after_events &&
      !SendRaw(tamper_.insert)) {
    return false;
  }
  if (tamper_.cut_after_bytes == bytes_ || tamper_.cut_after_events == events_) {
    Cut();
    return false;
  }
  if (tamper_.end_after_events == events_) {
    Finish();
    return false;
  }
  return true;
}

bool EventStream::SendRaw(std::string_view bytes) {
  const size_t left = tamper_.cut_after_bytes ? *tamper_.cut_after_bytes - bytes_ : bytes.size();
  const bool cut = left < bytes.size();
  if (!SendSlowly(bytes.substr(0, left))) return false;
  if (cut) Cut();
  return !cut;
}

bool EventStream::SendSlowly(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t limit = tamper_.drip_bytes == 0 ? bytes.size() : tamper_.drip_bytes;
    const std::string_view part = bytes.substr(0, limit);
    bytes.remove_prefix(part.size());
    if (!WriteChunk(connection_, part)) return false;
    bytes_ += part.size();
    if (tamper_.drip_bytes == 0) continue;
    const auto next = Connection::Clock::now() + tamper_.drip_pause;
    if (connection_.WaitUntil(never_, next) == Connection::Wake::kClosed) return false;
  }
  return true;
}

void EventStream::Finish() { finished_ = WriteChunk(connection_, ""); }

void EventStream::Cut() { connection_.Abort(); }

}  // namespace kuryr::fake
