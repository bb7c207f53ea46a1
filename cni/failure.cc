#include "cni/failure.h"

#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "binding/drivers/binding.h"
#include "binding/plan/attachment.h"
#include "watcher/api_error.h"

namespace kuryr::cni {

namespace {

std::string WithoutIgnorableWords(std::string text) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> words = {
      {{"not found", "missing"},
       {"No such file or directory", "missing file"},
       {"no such file or directory", "missing file"}}};
  for (const auto& [from, to] : words) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
      text.replace(at, from.size(), to);
  }
  return text;
}

std::string ContextOf(const Request& request) {
  std::string context;
  if (!request.pod.name.empty()) context = "pod " + request.pod.key() + ", ";
  if (request.container_id.empty()) return context;
  return context + "container " + request.container_id + ", interface " + request.ifname;
}

}  // namespace

CniError ErrorFor(const Request& request, const CniError& error) {
  std::string details = error.details();
  const std::string context = ContextOf(request);
  if (!context.empty()) details += (details.empty() ? "" : "; ") + context;
  if (request.command != Command::kDel) return {error.code(), error.what(), details};
  return {error.code(), WithoutIgnorableWords(error.what()), WithoutIgnorableWords(details)};
}

CniError AsCniError(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const CniError& e) {
    return e;
  } catch (const binding::MalformedVif& e) {
    return {ErrorCode::kMalformedVif, "malformed VIF", e.what()};
  } catch (const ParseError& e) {
    return {ErrorCode::kDecodeFailure, "malformed input", e.what()};
  } catch (const binding::UnsupportedVif& e) {
    return {ErrorCode::kUnsupportedVif, e.what()};
  } catch (const binding::UnsupportedLimit& e) {
    return {ErrorCode::kUnsupportedField, "the limit of bandwidth is not supported", e.what()};
  } catch (const binding::InterfaceExists& e) {
    return {ErrorCode::kInterfaceExists, e.what()};
  } catch (const binding::HostInterfaceInUse& e) {
    return {ErrorCode::kTryAgainLater, e.what()};
  } catch (const binding::NotWired& e) {
    return {ErrorCode::kTryAgainLater, e.what()};
  } catch (const watcher::ApiUntrusted& e) {
    return {ErrorCode::kApiRefused, e.what()};
  } catch (const watcher::ApiError& e) {
    const bool refused = e.code() == 401 || e.code() == 403;
    return {refused ? ErrorCode::kApiRefused : ErrorCode::kTryAgainLater, e.what()};
  } catch (const watcher::ApiUnavailable& e) {
    return {ErrorCode::kTryAgainLater, e.what()};
  } catch (const std::system_error& e) {
    const bool gave_up =
        e.code() == std::errc::timed_out || e.code() == std::errc::operation_canceled;
    return {gave_up ? ErrorCode::kTryAgainLater : ErrorCode::kIoFailure, e.what()};
  } catch (const std::exception& e) {
    return {ErrorCode::kInternal, "internal error", e.what()};
  } catch (...) {
    return {ErrorCode::kInternal, "internal error"};
  }
}

std::exception_ptr AsPassing(const std::exception_ptr& failure) {
  return std::make_exception_ptr(watcher::ApiUnavailable(AsCniError(failure).what()));
}

}  // namespace kuryr::cni
