#include "cli/timeline.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "api/json/render.h"
#include "cli/table.h"
#include "cli/timeline_events.h"

namespace semel::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kWidestCell = 40;
constexpr std::size_t kSmallestPreview = 8;
constexpr std::size_t kAwaitedShown = 5;

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
  bool right = false;  // numbers
};

// seq, time, glyph, who, what, detail; data takes what is left of the line.
constexpr std::size_t kColumns = 6;
struct Row {
  std::array<Cell, kColumns> cells;
  std::string data;
  std::vector<std::string> below;
};

std::string_view colour_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::bold:
      return "\x1b[1m";
    case Tone::dim:
      return "\x1b[2m";
    case Tone::good:
      return "\x1b[32m";
    case Tone::bad:
      return "\x1b[31m";
    case Tone::warn:
      return "\x1b[33m";
    case Tone::asks:
      return "\x1b[36m";
    case Tone::hears:
      return "\x1b[35m";
  }
  return "";
}

std::string painted(const std::string& text, Tone tone, bool colour) {
  if (!colour || tone == Tone::plain || text.empty()) return text;
  return std::string(colour_of(tone)) + text + "\x1b[0m";
}

Tone tone_of(Status status) {
  switch (status) {
    case Status::succeeded:
      return Tone::good;
    case Status::failed:
    case Status::timed_out:
    case Status::dead_lettered:
      return Tone::bad;
    case Status::cancelled:
      return Tone::warn;
    default:
      return Tone::asks;
  }
}

std::string signed_elapsed(Duration time) { return (time < Duration{0} ? "-" : "+") + elapsed(time); }

// Everything an event holds, one line each; texts of several lines stay so.
std::vector<std::string> everything(const core::Event& event) {
  std::vector<std::string> out;
  if (event.execution) out.push_back("execution " + event.execution->to_string());
  if (!event.id.empty()) out.push_back("id " + plain(event.id));
  for (std::size_t begin = 0; begin < event.data.size();) {
    const std::size_t end = std::min(event.data.find('\n', begin), event.data.size());
    out.push_back(plain(std::string_view(event.data).substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

// A run's arguments are stored with its execution, once.
engine::HistoryEvent with_args(engine::HistoryEvent recorded, const engine::RunView& run) {
  const core::Payload& payload = run.execution.payload;
  const bool bare = recorded.event.kind == core::EventKind::run_started && recorded.event.data.empty();
  if (bare && payload.args != "null") recorded.event.data = payload.args;
  return recorded;
}

Row row_of(const engine::HistoryEvent& recorded, Instant start, Teller& teller, bool full) {
  const EventLine line = teller.tell(recorded);
  Row row;
  row.cells = {Cell{std::to_string(recorded.seq), Tone::dim, true},
               Cell{signed_elapsed(recorded.at - start), Tone::dim, true},
               Cell{line.glyph, line.tone},
               Cell{cut(line.who, kWidestCell), Tone::plain},
               Cell{line.what, line.tone},
               Cell{cut(line.detail, kWidestCell), Tone::dim}};
  if (full) row.below = everything(recorded.event);
  else row.data = line.data;
  return row;
}

std::array<std::size_t, kColumns> widths_of(const std::vector<Row>& rows) {
  std::array<std::size_t, kColumns> out{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) out[i] = std::max(out[i], width_of(row.cells[i].text));
  return out;
}

// Spaces are written only in front of something, so that no line ends in one.
class Line {
 public:
  explicit Line(bool colour) : colour_(colour) {}
  void skip(std::size_t width) { pending_ += width; }
  void put(const std::string& text, Tone tone) {
    if (text.empty()) return;
    out_.append(pending_, ' ');
    pending_ = 0;
    out_ += painted(text, tone, colour_);
  }
  void put(const Cell& cell, std::size_t width) {
    const std::size_t rest = width - width_of(cell.text);
    if (cell.right) skip(rest);
    put(cell.text, cell.tone);
    if (!cell.right) skip(rest);
    if (width > 0) skip(kGap);
  }
  std::string end() const { return out_.substr(0, out_.find_last_not_of(' ') + 1) + "\n"; }

 private:
  bool colour_;
  std::size_t pending_ = 0;
  std::string out_;
};

void print_rows(std::string& out, const std::vector<Row>& rows, const TimelineStyle& style) {
  const auto widths = widths_of(rows);
  std::size_t used = 0;
  for (const std::size_t width : widths) used += width > 0 ? width + kGap : 0;
  const std::size_t left = style.width > used + kSmallestPreview ? style.width - used : kSmallestPreview;
  const std::size_t indent = widths[0] + widths[1] + widths[2] + 3 * kGap;
  for (const auto& row : rows) {
    Line line(style.colour);
    for (std::size_t i = 0; i < kColumns; ++i) line.put(row.cells[i], widths[i]);
    line.put(cut(row.data, left), Tone::plain);
    out += line.end();
    for (const auto& text : row.below) {
      Line below(style.colour);
      below.skip(indent);
      below.put(text, Tone::dim);
      out += below.end();
    }
  }
}

std::string header(const engine::RunView& run, std::span<const engine::HistoryEvent> events, bool colour) {
  const core::Execution& e = run.execution.execution;
  std::string status(to_string(e.status));
  if (const std::string_view why = api::reason_of(e); !why.empty()) status += " (" + std::string(why) + ")";
  const std::string id = plain(e.identity.value_or(""));
  std::string out = painted(plain(e.name), Tone::bold, colour) + "  " + (id.empty() ? "" : id + "  ");
  out += "run " + e.id.to_string() + "  " + painted(status, tone_of(e.status), colour);
  if (events.empty()) return out + "\n";
  if (events.size() == 1) return out + "  " + painted("1 event", Tone::dim, colour) + "\n";
  const std::string count = std::to_string(events.size()) + " events over ";
  return out + "  " + painted(count + elapsed(events.back().at - events.front().at), Tone::dim, colour) + "\n";
}

std::string awaited(const engine::RunView& run, const Teller& teller) {
  if (run.execution.execution.status == Status::queued) return "a worker of queue " + plain(run.execution.queue);
  const auto open = teller.open();
  std::string out;
  for (std::size_t i = 0; i < std::min(kAwaitedShown, open.size()); ++i) out += (i == 0 ? "" : ", ") + open[i];
  if (open.size() > kAwaitedShown) out += " and " + std::to_string(open.size() - kAwaitedShown) + " more";
  return out;
}

// What a run that is not over is waiting for.
std::string footer(const engine::RunView& run, const Teller& teller) {
  if (is_terminal(run.execution.execution.status)) return {};
  Lines lines;
  lines.add_if("waits for", awaited(run, teller));
  if (run.unread_count > 0) lines.add("unread", std::to_string(run.unread_count) + " in its mailbox");
  const std::string out = lines.print();
  return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string elapsed(Duration time) {
  const std::int64_t micros = time < Duration{0} ? -(time.count() + 1) : time.count();  // the least has no opposite
  const long long millis = micros / 1000;
  const long long seconds = millis / 1000;
  const long long minutes = seconds / 60;
  char text[48];
  if (seconds < 60) std::snprintf(text, sizeof text, "%lld.%03llds", seconds, millis % 1000);
  else if (minutes < 60) std::snprintf(text, sizeof text, "%lldm%02lld.%03llds", minutes, seconds % 60, millis % 1000);
  else if (minutes < 24 * 60)
    std::snprintf(text, sizeof text, "%lldh%02lldm%02llds", minutes / 60, minutes % 60, seconds % 60);
  else std::snprintf(text, sizeof text, "%lldd%02lldh%02lldm", minutes / 1440, minutes / 60 % 24, minutes % 60);
  return text;
}

std::string timeline(const engine::RunView& run, std::span<const engine::HistoryEvent> events,
                     const TimelineStyle& style) {
  std::string out = header(run, events, style.colour);
  if (events.empty()) return out;
  const Instant start = events.front().at;
  Teller teller(start);
  std::vector<Row> rows;
  rows.reserve(events.size());
  for (const auto& event : events) rows.push_back(row_of(with_args(event, run), start, teller, style.full));
  out += "\n";
  print_rows(out, rows, style);
  return out + footer(run, teller);
}

}  // namespace semel::cli
