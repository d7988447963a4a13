// Names of numbers, as iproute2's files give them.
#include "model/names.h"

#include <gtest/gtest.h>

namespace waypost {
namespace {

TEST(Names, HaveTheBuiltInOnes) {
  const NameTables names = NameTables::defaults();
  EXPECT_EQ(names.tables.text(254), "main");
  EXPECT_EQ(names.tables.text(7), "7");
  EXPECT_EQ(names.protocols.number("bgp"), 186u);
  EXPECT_EQ(names.protocols.text(87), "waypost");
  EXPECT_EQ(names.scopes.number("link"), 253u);
  EXPECT_EQ(names.dsfields.number("CS6"), 0xc0u);
  EXPECT_FALSE(names.tables.number("no such").has_value());
}

// A later name of a number wins, the earlier one is still understood; hexadecimal numbers and comments are
// taken.
TEST(Names, ReadFiles) {
  NumberNames names;
  names.add(7, "seven");
  EXPECT_EQ(read_names("# comment\n\n  0x10\tsixteen # why\r\n7 sept\n100 cent extra words\n", names), 0);
  EXPECT_EQ(names.text(7), "sept");
  EXPECT_EQ(names.number("seven"), 7u);
  EXPECT_EQ(names.number("sixteen"), 16u);
  EXPECT_EQ(names.number("cent"), 100u);
  EXPECT_EQ(read_names("1 one\nx two\n3\n", names), 2);
  EXPECT_EQ(names.number("one"), 1u);
}

}  // namespace
}  // namespace waypost
