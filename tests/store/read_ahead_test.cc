// A range that was read ahead is answered without the tables below, rows and gaps alike; what lies outside is
// asked for, and what the entry itself has written stays.
#include <gtest/gtest.h>

#include "store/overlay.h"

namespace waypost::store {
namespace {

class CountedRows final : public TableReader {
 public:
  bool get(Table, std::string_view key, std::string* value) const override {
    ++asked;
    const auto found = rows.find(std::string(key));
    if (found == rows.end()) return false;
    *value = found->second;
    return true;
  }
  void scan(Table, std::string_view from, std::string_view until, const RowVisitor& visit) const override {
    for (auto at = rows.lower_bound(std::string(from)); at != rows.end(); ++at)
      if ((!until.empty() && at->first >= until) || !visit(at->first, at->second)) return;
  }

  std::map<std::string, std::string> rows;
  mutable int asked = 0;
};

class OverlayReadAhead : public testing::Test {
 protected:
  OverlayReadAhead() : overlay_(base_) {
    base_.rows = {{"b", "2"}, {"d", "4"}, {"f", "6"}, {"h", "8"}};
    overlay_.begin_transaction();
  }
  std::string get(std::string_view key) {
    return std::string(overlay_.get(Table::kNexthop, key).value_or("-"));
  }

  CountedRows base_;
  Overlay overlay_;
};

TEST_F(OverlayReadAhead, RowsAndGapsWithin) {
  overlay_.read_ahead(Table::kNexthop, "b", "f", 10);
  EXPECT_EQ(get("b") + get("c") + get("d") + get("e") + get("f"), "2-4-6");
  EXPECT_EQ(base_.asked, 0);
  EXPECT_EQ(get("a") + get("h"), "-8");
  EXPECT_EQ(base_.asked, 2);
}

TEST_F(OverlayReadAhead, EndsAfterSoManyRows) {
  overlay_.read_ahead(Table::kNexthop, "a", "h", 2);
  EXPECT_EQ(get("a") + get("b") + get("c") + get("d"), "-2-4");
  EXPECT_EQ(base_.asked, 0);
  EXPECT_EQ(get("e") + get("f"), "-6");
  EXPECT_EQ(base_.asked, 2);
}

TEST_F(OverlayReadAhead, KeepsWhatWasWritten) {
  overlay_.put(Table::kNexthop, "c", "new");
  overlay_.erase(Table::kNexthop, "d");
  overlay_.read_ahead(Table::kNexthop, "a", "h", 10);
  EXPECT_EQ(get("c") + get("d") + get("f"), "new-6");
  overlay_.erase(Table::kNexthop, "f");
  std::string dirty;
  overlay_.for_each_dirty(Table::kNexthop, [&](std::string_view key, const Overlay::Row& row) {
    dirty += std::string(key) + (row.present ? "+" : "-");
  });
  EXPECT_EQ(dirty, "c+d-f-");
}

TEST_F(OverlayReadAhead, EndsWithTheEntryAndWithTheTable) {
  overlay_.read_ahead(Table::kNexthop, "a", "h", 10);
  EXPECT_FALSE(overlay_.get(Table::kRoute, "c"));
  EXPECT_EQ(base_.asked, 1) << "another table";
  overlay_.clear();
  EXPECT_EQ(get("c"), "-");
  EXPECT_EQ(base_.asked, 2);
}

}  // namespace
}  // namespace waypost::store
