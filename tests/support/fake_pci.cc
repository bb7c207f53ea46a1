#include "tests/support/fake_pci.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace kuryr::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevices = "devices/pci0000:00";

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

FakePci::FakePci(fs::path root, const std::string& mac)
    : root_(std::move(root)),
      mac_(mac),
      fanotify_(::fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC)) {
  if (!fanotify_) ThrowErrno("fanotify_init");
  const fs::path device = root_ / kDevices / kDevice;
  fs::create_directories(device / "virtio2");
  fs::create_directories(root_ / "class/net");
  fs::create_directories(root_ / "bus/pci/devices");
  fs::create_directory_symlink(device, root_ / "bus/pci/devices" / kDevice);
  std::ofstream(device / "driver_override") << "(null)\n";
  std::ofstream(root_ / "bus/pci/drivers_probe").close();
  for (const char* name : {kKernelDriver, kDpdkDriver}) AddDriver(name);
  Watch(root_ / "bus/pci/drivers_probe");
  BindTo(kKernelDriver);
  kernel_ = std::jthread([this] { Run(); });
}

FakePci::~FakePci() { stop_.Set(); }

void FakePci::AddLink(const std::string& name, const std::string& mac, const std::string& device) {
  const fs::path link = root_ / "class/net" / name;
  fs::create_directory(link);
  std::ofstream(link / "address") << mac << "\n";
  if (!device.empty())
    fs::create_directory_symlink(root_ / kDevices / device / "virtio2", link / "device");
}

std::string FakePci::Driver() const {
  std::error_code none;
  return fs::read_symlink(root_ / kDevices / kDevice / "driver", none).filename();
}

std::string FakePci::Written(const std::string& file) {
  reading_ = true;
  std::string text = ReadFile(root_ / file);
  reading_ = false;
  return text;
}

void FakePci::Refuse(const std::string& file) {
  const std::lock_guard lock(mutex_);
  refused_ = root_ / file;
}

void FakePci::Ignore(const std::string& file) {
  const std::lock_guard lock(mutex_);
  ignored_ = root_ / file;
}

void FakePci::AddDriver(const std::string& name) {
  const fs::path driver = root_ / "bus/pci/drivers" / name;
  fs::create_directories(driver);
  for (const char* file : {"bind", "unbind"}) {
    std::ofstream(driver / file).close();
    Watch(driver / file);
  }
}

void FakePci::Watch(const fs::path& file) const {
  if (::fanotify_mark(fanotify_.get(), FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, file.c_str()) != 0)
    ThrowErrno("fanotify_mark " + file.string());
}

void FakePci::BindTo(const std::string& driver) const {
  const fs::path device = root_ / kDevices / kDevice;
  fs::create_directory_symlink(root_ / "bus/pci/drivers" / driver, device / "driver");
  if (driver != kKernelDriver) return;
  const fs::path link = root_ / "class/net" / kLink;
  fs::create_directory(link);
  std::ofstream(link / "address") << mac_ << "\n";
  fs::create_directory_symlink(device / "virtio2", link / "device");
}

void FakePci::Unbind() const {
  fs::remove(root_ / kDevices / kDevice / "driver");
  fs::remove_all(root_ / "class/net" / kLink);
}

void FakePci::React(const fs::path& file) const {
  const std::string wanted = ReadFile(root_ / kDevices / kDevice / "driver_override");
  const std::string driver = file.parent_path().filename();
  if (file.filename() == "unbind" && Driver() == driver) Unbind();
  if (file.filename() == "bind" && wanted == driver) BindTo(driver);
  if (file.filename() == "drivers_probe" && wanted == "\n" && Driver().empty())
    BindTo(kKernelDriver);
}

bool FakePci::Allow(const fs::path& file) {
  const std::lock_guard lock(mutex_);
  if (file == refused_) return false;
  if (file != ignored_ && !reading_) React(file);
  return true;
}

void FakePci::Run() {
  for (;;) {
    std::array<pollfd, 2> wait = {{{fanotify_.get(), POLLIN, 0}, {stop_.fd(), POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), -1) < 0 || wait[1].revents != 0) return;
    fanotify_event_metadata event = {};
    if (::read(fanotify_.get(), &event, sizeof event) != sizeof event) continue;
    UniqueFd opened(event.fd);
    const fs::path file = fs::read_symlink("/proc/self/fd/" + std::to_string(opened.get()));
    const fanotify_response response = {
        .fd = event.fd, .response = static_cast<uint32_t>(Allow(file) ? FAN_ALLOW : FAN_DENY)};
    opened.reset();  // before the test goes on and counts its open files
    if (::write(fanotify_.get(), &response, sizeof response) < 0) return;
  }
}

}  // namespace kuryr::test
