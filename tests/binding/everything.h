#pragma once

#include "binding/config.h"
#include "binding/drivers/drivers.h"

namespace kuryr::test {

/// The config of a node whose operator lets every VIF have its driver, and the bridges of tests.
inline binding::BindingConfig WithEverything(binding::BindingConfig config) {
  for (const binding::DriverRow& driver : binding::kDrivers)
    config.drivers.emplace_back(driver.name);
  config.bridges = {"br-int", "br-lan", "*"};
  return config;
}

}  // namespace kuryr::test
