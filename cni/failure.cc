#include "cni/failure.h"

#include <system_error>

#include "base/error.h"
#include "binding/driver.h"
#include "watcher/api_error.h"

namespace kuryr::cni {

CniError AsCniError(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const CniError& e) {
    return e;
  } catch (const ParseError& e) {
    return {ErrorCode::kMalformedVif, "malformed VIF", e.what()};
  } catch (const binding::UnsupportedVif& e) {
    return {ErrorCode::kUnsupportedVif, e.what()};
  } catch (const binding::InterfaceExists& e) {
    return {ErrorCode::kInterfaceExists, e.what()};
  } catch (const binding::HostInterfaceInUse& e) {
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

}  // namespace kuryr::cni
