#include "vif/field.h"

#include <gtest/gtest.h>

#include <string>

namespace kuryr::vif {
namespace {

TEST(FieldTest, StartsUnset) {
  const Field<int> field;

  EXPECT_FALSE(field.is_set());
  EXPECT_FALSE(field.is_null());
  EXPECT_FALSE(field.has_value());
}

TEST(FieldTest, NullIsSetButHasNoValue) {
  const Field<int> field = Null{};

  EXPECT_TRUE(field.is_set());
  EXPECT_TRUE(field.is_null());
  EXPECT_FALSE(field.has_value());
}

TEST(FieldTest, HoldsAValue) {
  const Field<std::string> field = std::string("br-int");

  EXPECT_TRUE(field.is_set());
  EXPECT_TRUE(field.has_value());
  EXPECT_EQ(*field, "br-int");
  EXPECT_EQ(field->size(), 6U);
  EXPECT_EQ(field.value_or("other"), "br-int");
}

TEST(FieldTest, ValueOfNothingThrows) {
  EXPECT_THROW(static_cast<void>(Field<int>().value()), std::bad_optional_access);
  EXPECT_THROW(static_cast<void>(Field<int>(Null{}).value()), std::bad_optional_access);
  EXPECT_EQ(Field<int>().value_or(7), 7);
}

TEST(FieldTest, UnsetNullAndValueAreDifferent) {
  EXPECT_EQ(Field<int>(), Field<int>());
  EXPECT_NE(Field<int>(), Field<int>(Null{}));
  EXPECT_NE(Field<int>(0), Field<int>(Null{}));
  EXPECT_NE(Field<int>(0), Field<int>());
  EXPECT_EQ(Field<int>(3), Field<int>(3));
}

TEST(FieldTest, EmplaceEndsNullAndResetUnsets) {
  Field<int> field = Null{};

  field.emplace(4);
  EXPECT_FALSE(field.is_null());
  EXPECT_EQ(*field, 4);

  field.reset();
  EXPECT_FALSE(field.is_set());
}

}  // namespace
}  // namespace kuryr::vif
