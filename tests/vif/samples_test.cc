#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "tests/vif/decoded_form.h"
#include "tests/vif/samples.h"
#include "vif/pod_vifs.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;

/// Sets the fields that os-vif's Network sets when it decodes an object without them. This
/// project's decoder keeps them unset.
void SetNetworkDefaults(json& form) {
  if (!form.is_structured()) return;
  if (form.is_object() && form.value("_class", "") == "Network" && form["mtu"] == "<unset>")
    form["mtu"] = nullptr;
  for (json& element : form) SetNetworkDefaults(element);
}

std::string TestName(const testing::TestParamInfo<std::string>& sample) {
  std::string name = sample.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

class VifSampleTest : public testing::TestWithParam<std::string> {};

TEST_P(VifSampleTest, DecodesToWhatPythonDecodes) {
  const json expected = JsonSample("expected/" + GetParam() + ".json").at("decoded");
  if (expected.contains("_exception")) {
    // os-vif 3.0 does not know the Subnet 1.1 that os-vif 1.8.0 wrote; this project's decoder does.
    EXPECT_EQ(GetParam(), "version-osvif-1.8.0-fixed_ips");
    return;
  }

  json decoded = DecodedForm::Of(DecodeVif(JsonSample("vif/" + GetParam() + ".json")));

  SetNetworkDefaults(decoded);
  EXPECT_EQ(decoded, expected) << json::diff(expected, decoded);
}

TEST_P(VifSampleTest, EncodesToTheInput) {
  const json input = JsonSample("vif/" + GetParam() + ".json");

  const json encoded = EncodeVif(DecodeVif(input));

  EXPECT_EQ(encoded, input) << json::diff(input, encoded);
}

INSTANTIATE_TEST_SUITE_P(EveryFile, VifSampleTest, testing::ValuesIn(SampleNames("vif")), TestName);

class AnnotationSampleTest : public testing::TestWithParam<std::string> {};

TEST_P(AnnotationSampleTest, DecodesToWhatPythonDecodes) {
  std::string base = GetParam();
  if (base.ends_with(".min")) base.resize(base.size() - 4);
  const json expected = JsonSample("expected/annotation-" + base + ".json").at("vifs");

  json decoded = json::object();
  for (const PodVif& vif : DecodeAnnotation(ReadSample("annotation/" + GetParam() + ".json")))
    decoded[vif.ifname] = DecodedForm::Of(vif.vif);

  EXPECT_EQ(decoded, expected) << json::diff(expected, decoded);
}

INSTANTIATE_TEST_SUITE_P(EveryFile, AnnotationSampleTest,
                         testing::ValuesIn(SampleNames("annotation")), TestName);

TEST(PodStateSampleTest, KeepsTheChangesOfEveryLevel) {
  const json input = JsonSample("annotation/rocky-podstate-default-only-REAL-inactive.min.json");

  const json encoded = EncodePodState(DecodePodState(input));

  EXPECT_EQ(encoded, input) << json::diff(input, encoded);
}

TEST(PodStateSampleTest, LosesTheChangesWhenAskedTo) {
  const json input = JsonSample("annotation/rocky-podstate-default-only-REAL-inactive.min.json");

  const json encoded = EncodePodState(DecodePodState(input), Changes::kOmit);

  EXPECT_EQ(encoded, JsonSample("annotation/rocky-podstate-default-only.min.json"));
}

TEST(InstanceInfoSampleTest, DecodesAndEncodesToTheInput) {
  const json input = JsonSample("other/instance-info.json");

  const InstanceInfo instance = DecodeInstanceInfo(input);

  EXPECT_EQ(*instance.name, "pod-5bb648d658-55n76");
  EXPECT_FALSE(instance.project_id.is_set());
  EXPECT_EQ(EncodeInstanceInfo(instance), input);
}

/// The table of vif/README.md: the path of the error for each mutation. "" accepts it.
const std::map<std::string, std::string>& Verdicts() {
  static const std::map<std::string, std::string> kVerdicts = {
      {"unknown class name", "$['versioned_object.name']"},
      {"wrong namespace", "$['versioned_object.namespace']"},
      {"missing version", "$['versioned_object.version']"},
      {"missing data", "$['versioned_object.data']"},
      {"other major version", "$['versioned_object.version']"},
      {"malformed version", "$['versioned_object.version']"},
      {"MAC upper case with dashes", ""},
      {"bad ip address", "$.network.subnets[0].ips[0].address"},
      {"short ip", "$.network.subnets[0].ips[0].address"},
      {"bad cidr", "$.network.subnets[0].cidr"},
      {"cidr without prefix", ""},
      {"cidr with netmask", "$.network.subnets[0].cidr"},
      {"ipv6 upper case, not compressed", ""},
      {"ipv4-mapped ipv6", ""},
      {"gateway null", ""},
      {"dns null", "$.network.subnets[0].dns"},
      {"ips absent", ""},
      {"ips empty", ""},
      {"mtu as string", "$.network.mtu"},
      {"mtu float", "$.network.mtu"},
      {"active as string \"false\"", "$.active"},
      {"active as 0", "$.active"},
      {"vif_name as number", "$.vif_name"},
      {"vif_name null", "$.vif_name"},
      {"port_profile of wrong class", "$.port_profile['versioned_object.name']"},
      {"network of wrong class", "$.network['versioned_object.name']"},
      {"data is a list", "$['versioned_object.data']"},
      {"changes has unknown field", ""}};
  return kVerdicts;
}

std::string RefusalPath(const json& primitive) {
  try {
    static_cast<void>(DecodeVif(primitive));
    return "";
  } catch (const ParseError& e) {
    return e.path();
  }
}

TEST(NegativeVectorTest, EveryOneGetsTheVerdictOfTheTable) {
  const json vectors = JsonSample("negative-vectors.json");
  EXPECT_EQ(vectors.size(), Verdicts().size());
  for (const json& vector : vectors) {
    const auto name = vector.at("name").get<std::string>();
    SCOPED_TRACE(name);

    EXPECT_EQ(RefusalPath(vector.at("input")), Verdicts().at(name));
  }
}

TEST(NegativeVectorTest, WhatBothAcceptMeansTheSame) {
  for (const json& vector : JsonSample("negative-vectors.json")) {
    if (!vector.at("python").contains("accepted")) continue;
    if (!RefusalPath(vector.at("input")).empty()) continue;
    SCOPED_TRACE(vector.at("name").get<std::string>());

    const json decoded = DecodedForm::Of(DecodeVif(vector.at("input")));

    EXPECT_EQ(decoded, vector["python"]["accepted"])
        << json::diff(vector["python"]["accepted"], decoded);
  }
}

}  // namespace
}  // namespace kuryr::vif
