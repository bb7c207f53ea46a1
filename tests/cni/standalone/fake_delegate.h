#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kuryr::cni {

/// A folder with shell scripts in a delegated plugin's place.
class FakeDelegateTest : public ::testing::Test {
 protected:
  FakeDelegateTest() {
    std::string pattern = ::testing::TempDir() + "kuryr-delegate-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~FakeDelegateTest() override { std::filesystem::remove_all(dir_); }

  /// In the script, $DIR is the folder.
  std::string Script(const std::string& body, const std::string& name = "fake") const {
    const std::filesystem::path path = dir_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\nDIR=" << dir_.string() << "\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  [[nodiscard]] std::string Read(const std::string& name) const {
    std::ifstream file(dir_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path dir_;
};

}  // namespace kuryr::cni
