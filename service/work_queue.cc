#include "service/work_queue.h"

namespace kuryr::service {

template class BasicWorkQueue<std::string>;

}  // namespace kuryr::service
