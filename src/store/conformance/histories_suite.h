// Histories and mail as they are read: in pages, and of many runs at once.
#pragma once

#include "store/conformance/runs_suite.h"

namespace semel::store::conformance {

class Histories : public Runs {};

TEST_P(Histories, MailOfManyRunsIsReadTogetherAndInTheOrderOfItsArrival) {
  const Execution one = owned("one"), two = owned("two"), silent = owned("silent"), other = owned("other");
  std::vector<std::pair<ExecutionId, MailId>> sent;
  for (const auto& [id, run_id] : {std::pair{"two", two.id}, {"one", one.id}, {"other", other.id}, {"two", two.id}}) {
    const core::RunSignal op = signal(id);
    run(op);
    sent.emplace_back(run_id, op.mail);
    advance(1s);
  }
  const std::vector<ExecutionId> asked = {two.id, silent.id, one.id};
  const std::vector<core::Mail> all = store_->mail_list(asked).value();
  ASSERT_EQ(all.size(), 3u);
  std::vector<MailId> of_two;
  for (const auto& mail : all) {
    EXPECT_NE(mail.key.run, other.id);
    if (mail.key.run == two.id) of_two.push_back(mail.key.id);
  }
  EXPECT_EQ(of_two, (std::vector{sent[0].second, sent[3].second}));
  EXPECT_TRUE(store_->mail_list({}).value().empty());
}

TEST_P(Histories, AHistoryIsReadInPagesOfAtLeastOneRow) {
  const Execution held = owned("w");
  for (int i = 1; i <= 12; ++i)  // every append has two events
    run(advance_of(held,
                   {event(EventKind::local_completed, 2 * i - 1, std::string(static_cast<std::size_t>(20 * i), 'x')),
                    event(EventKind::local_completed, 2 * i, "1")}));
  const std::vector<core::HistoryRow> all = store_->history_get(held.id, 0, INT64_MAX).value();
  ASSERT_EQ(all.size(), 13u);
  EXPECT_EQ(all.back().first + all.back().count - 1, 25);
  for (const std::int64_t limit : {1, 100, 300, 700}) {
    std::vector<core::HistoryRow> read;
    for (std::int32_t after = 0; after < 25; after = read.back().first + read.back().count - 1) {
      const std::vector<core::HistoryRow> page = store_->history_get(held.id, after, limit).value();
      ASSERT_FALSE(page.empty());
      std::int64_t before_last = -static_cast<std::int64_t>(page.back().events.size());
      for (const auto& one : page) before_last += static_cast<std::int64_t>(one.events.size());
      EXPECT_LT(before_last, limit) << "a row more than the limit takes";
      const bool full = before_last + static_cast<std::int64_t>(page.back().events.size()) >= limit;
      EXPECT_TRUE(full || page.back() == all.back()) << "a page that stops early";
      read.insert(read.end(), page.begin(), page.end());
    }
    EXPECT_EQ(read, all) << "limit " << limit;
  }
  EXPECT_EQ(store_->history_get(held.id, 2, INT64_MAX).value().front(), all[1]) << "in the middle of an append";
  EXPECT_EQ(store_->history_get(held.id, 3, 1).value(), std::vector{all[2]});
  EXPECT_TRUE(store_->history_get(held.id, 25, INT64_MAX).value().empty());
}

}  // namespace semel::store::conformance
