#include "tests/crash/cut_record.h"

#include "tests/crash/sql.h"

namespace semel::crash {
namespace {

constexpr std::size_t kMostViolations = 20;

// Of what a redriven execution copies, that of the first one counts; steps of workflows are left out.
constexpr const char* kFacts =
    "select 'args ' || substring(encode(args, 'escape') from 'tok-[0-9a-z-]+') from semel.execution "
    "where previous is null and parent_run is null"
    " union all select 'result ' || encode(result, 'escape') from semel.execution where result is not null "
    "and parent_run is null"
    " union all select 'error ' || substring(encode(error, 'escape') from 'tok-[0-9a-z-]+') from semel.execution "
    "where error is not null and previous is null"
    " union all select 'progress ' || encode(progress, 'escape') from semel.execution where progress is not null"
    " union all select 'held ' || id || ' ' || version from semel.execution where status in (1, 2)"
    " union all select 'released ' || id from semel.execution where status = 0 and version = 3 and attempt = 0"
    " union all select 'cancelled ' || id from semel.execution where status = 6"
    " union all select 'follows ' || previous from semel.execution where previous is not null"
    " union all select 'discarded ' || execution from semel.attention where discarded_at is not null"
    " union all select 'key ' || key from semel.identity where space = 2"
    " union all select 'signal ' || chain || ' ' || dedupe from semel.signal"
    " union all select 'mail ' || substring(encode(event, 'escape') from 'tok-[0-9a-z-]+') from semel.mail"
    " union all select 'session ' || id from semel.session"
    " union all select 'tenant ' || name from semel.tenant"
    " union all select 'group ' || substring(encode(completion, 'escape') from 'tok-[0-9a-z-]+') from semel.grp"
    " union all select 'queue ' || queue from semel.lane where retention is not null";

}  // namespace

void CutRecord::answered(const std::string& fact, const Error* error, bool undoes) {
  const std::lock_guard lock(mutex_);
  const long after = undoes ? 0 : 1;
  if (error == nullptr) {
    ++acknowledged_;
    expected_[fact] = {after, after};
  } else if (error->code == ErrorCode::UnknownCommit) {
    ++unknown_;
    expected_[fact] = {0, 1};
  } else {
    ++refused_;
    expected_[fact] = {1 - after, 1 - after};
    const bool of_the_store = error->code == ErrorCode::StoreUnavailable || error->code == ErrorCode::StoreBusy ||
                              error->code == ErrorCode::Overloaded ||
                              (fails_over_ && error->code == ErrorCode::LeaseLost);
    if (!of_the_store && violations_.size() < kMostViolations)
      violations_.push_back(fact + " was answered " + std::string(error_info(error->code).name) + ": " +
                            error->message);
  }
}

void CutRecord::violation(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (violations_.size() < kMostViolations) violations_.push_back(text);
}

void CutRecord::compare(const std::map<std::string, long>& found) {
  for (const auto& [fact, expected] : expected_) {
    if (fails_over_ && fact.starts_with("session ")) continue;
    const auto it = found.find(fact);
    const long count = it == found.end() ? 0 : it->second;
    if (count >= expected.least && count <= expected.most) continue;
    violation(fact + ": found " + std::to_string(count) + " times, told " + std::to_string(expected.least) + " to " +
              std::to_string(expected.most));
  }
}

std::map<std::string, long> facts_of(const std::string& store_url) {
  std::map<std::string, long> out;
  for (const auto& row : open_sql(store_url)->query(kFacts)) ++out[row[0]];
  return out;
}

}  // namespace semel::crash
