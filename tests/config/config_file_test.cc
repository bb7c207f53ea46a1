#include "config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/subprocess.h"

namespace kuryr {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Prints what oslo.config reads: options "a" to "x" of section "one". "y" and "z" are options of
/// DEFAULT.
constexpr const char* kOslo = R"(
import json, string, sys
from oslo_config import cfg
conf = cfg.ConfigOpts()
letters = string.ascii_lowercase[:-2]
conf.register_opts([cfg.StrOpt('y'), cfg.StrOpt('z')])
for group in ('one', 'two'):
    conf.register_opts([cfg.StrOpt(letter) for letter in letters], group)
conf(['--config-file', sys.argv[1]], default_config_files=[])
print(json.dumps({letter: conf.one[letter] for letter in letters
                  if conf.one[letter] is not None}))
)";

/// All forms that oslo.config's own parser accepts.
constexpr const char* kText = R"([DEFAULT]
z = of all
y = $z, twice $z
[one]
a = "in quotes"
b='in single ones'
c = "half
d = ""
e = "
f = first
f = second
g: colon = and more
h = text ; no comment # either
i = a line
  that goes on
	"and on"

# a comment
; another
j = $a
k = ${a}s
l = $$a and \$a
m = $ and ${ and ${a and $1
n = $y
o = ${two.a}/$two.b
p = http://host:1/?q="x"
q = '"'
r = "a" or "b"
x =
[two]
a = of $b
b = "two's"
[one]
s = the section goes on
f = third
)";

class ConfigFileTest : public ::testing::Test {
 protected:
  ConfigFileTest() {
    std::string pattern = ::testing::TempDir() + "config-file-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ConfigFileTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& text, const std::string& name = "kuryr.conf") {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string Find(const std::string& text, const std::string& section = "one",
                   const std::string& option = "a") {
    return ConfigFiles({File(text)}).Find(section, option).value.value_or("nothing");
  }
  std::string Refusal(const std::string& text) {
    try {
      return "accepted: " + Find(text);
    } catch (const ConfigError& e) {
      return e.what();
    }
  }

  std::filesystem::path folder_;
};

TEST_F(ConfigFileTest, ItIsReadAsOsloConfigReadsIt) {
  const std::string file = File(kText);
  const test::ProcessResult oslo =
      test::RunProgram({.argv = {"/usr/bin/python3", "-c", kOslo, file}});
  if (oslo.err.find("No module named 'oslo_config'") != std::string::npos)
    GTEST_SKIP() << "python3-oslo.config is not installed (tests/packages neutron)";
  ASSERT_EQ(oslo.status, 0) << oslo.err;

  const ConfigFiles files({file});
  const nlohmann::json wanted = nlohmann::json::parse(oslo.out);

  EXPECT_EQ(wanted.size(), 20);
  for (const auto& [name, value] : wanted.items())
    EXPECT_EQ(files.Find("one", name).value, value.get<std::string>()) << name;
}

TEST_F(ConfigFileTest, OnePairOfQuotesGoes) {
  EXPECT_EQ(Find("[one]\na = \"/etc/kuryr\"\n"), "/etc/kuryr");
  EXPECT_EQ(Find("[one]\na = ''x''\n"), "'x'");
}

TEST_F(ConfigFileTest, TheLastOfAnOptionCounts) {
  EXPECT_EQ(Find("[one]\na = 1\n[two]\na = 2\n[ONE]\nA = 3\n"), "3");
}

TEST_F(ConfigFileTest, AReferenceIsLookedForInAllFiles) {
  const ConfigFiles files(
      {File("[one]\na = $b\nb = early\n", "early.conf"), File("[one]\nb = late\n", "late.conf")});

  EXPECT_EQ(files.Find("one", "a").value, "late");
}

TEST_F(ConfigFileTest, DropInsAddToTheirFileByTheirNames) {
  const std::string conf = File("[one]\na = own\nb = own\nc = own\n");
  std::filesystem::create_directory(conf + ".d");
  File("[one]\nb = second\nc = second\n", "kuryr.conf.d/2-more.conf");
  File("[one]\nb = first\n[two]\nd = $one.b\n", "kuryr.conf.d/1-more.conf");
  File("[one]\na = not read\n", "kuryr.conf.d/3-more.conf.bak");

  const ConfigFiles files({conf, File("[one]\nc = later\n", "later.conf")});

  EXPECT_EQ(files.Find("one", "a").value, "own");
  EXPECT_EQ(files.Find("one", "b").value, "second");
  EXPECT_EQ(files.Find("one", "c").value, "later");
  EXPECT_EQ(files.WhereOf("two", "d"), conf + ".d/1-more.conf: [two] d");
}

TEST_F(ConfigFileTest, AReferenceToWhatNoFileSetsIsNamed) {
  EXPECT_THAT(
      Refusal("[one]\na = $state_path/x\n"),
      AllOf(HasSubstr("kuryr.conf: [one] a: \"$state_path\" names an option that no file sets"),
            HasSubstr("$$ for a dollar sign")));
  EXPECT_THAT(Refusal("[one]\na = ${two.b}\n"), HasSubstr("\"$two.b\""));
}

TEST_F(ConfigFileTest, OptionsThatNameEachOtherAreRefused) {
  EXPECT_THAT(Refusal("[one]\na = $b\nb = $a\n"), HasSubstr("options that name each other"));
}

TEST_F(ConfigFileTest, WhatGrowsWithoutEndIsRefused) {
  std::string text = "[one]\na = $b\n";
  for (char c = 'b'; c < 'i'; ++c) {
    text += std::string(1, c) + " =";
    for (int i = 0; i < 30; ++i) text += std::string("$") + static_cast<char>(c + 1);
    text += "\n";
  }
  EXPECT_THAT(Refusal(text + "i = " + std::string(1000, 'x') + "\n"), HasSubstr("more than 1 MiB"));
}

TEST_F(ConfigFileTest, AMalformedLineIsNamed) {
  EXPECT_THAT(Refusal("[one]\nnothing\n"), HasSubstr("malformed line 2: expected NAME = VALUE"));
  EXPECT_THAT(Refusal("[one\n"), HasSubstr("malformed line 1: a section has to end with ]"));
  EXPECT_THAT(Refusal("[one]\n= x\n"), HasSubstr("malformed line 2: the option has no name"));
  EXPECT_THAT(Refusal("a = x\n"), HasSubstr("malformed line 1: an option stands before"));
}

}  // namespace
}  // namespace kuryr
