// Rows as text: `table|column=value|...`, columns in the order of core/rows.h. Every backend's snapshot() prints rows
// with these functions and nothing else, so that equal stores print equal text.
//
// Values: integers, enums and flags as numbers; instants and durations as microseconds; ids in their usual form; text
// and bytes quoted with everything outside printable ASCII escaped; an absent optional as nothing at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/rows.h"

namespace semel::store {

std::string to_line(core::TenantId id, std::string_view name);  // tenant|id=1|name="default"
std::string to_line(const core::Lane& row);
std::string to_line(const core::Identity& row);
std::string to_line(const core::Execution& row);
std::string to_line(const core::Payload& row);
std::string to_line(const core::ReadyRow& row);
std::string to_line(const core::BlockedRow& row);
std::string to_line(const core::TimerRow& row);
std::string to_line(const core::KeySlot& row);
std::string to_line(const core::Session& row);
std::string to_line(const core::Lease& row);
std::string to_line(const core::Group& row);
std::string to_line(const core::Attention& row);

// One line per counter (`ledger`) and one per remembered note (`ledger_note`).
std::string to_line(const core::IdentityKey& id, core::LedgerRule rule, std::int64_t count);
std::string to_line(const core::LedgerNote& row);

// The whole snapshot: lines sorted bytewise, each ended by a newline.
std::string to_line(const core::Run& row);
std::string to_line(const core::HistoryRow& row);
std::string to_line(const core::Mail& row);
std::string to_line(const core::Watch& row);
std::string to_line(const core::Signal& row);
std::string to_snapshot(std::vector<std::string> lines);

}  // namespace semel::store
