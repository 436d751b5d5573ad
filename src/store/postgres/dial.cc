// libpq connects without blocking here, so that a process which must end does not wait for a server that is away.
#include "store/postgres/dial.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/postgres/stop_signal.h"

namespace semel::store::postgres {

std::string trimmed(const char* text) {
  std::string out = text ? text : "";
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

namespace {

// Connection parameters: the caller's, then ours where the caller said nothing.
struct ConnInfo {
  std::vector<std::pair<std::string, std::string>> pairs;

  const std::string* find(std::string_view key) const {
    const auto it = std::find_if(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == key; });
    return it == pairs.end() ? nullptr : &it->second;
  }
  void fallback(const char* key, std::string value) {
    if (!find(key)) pairs.emplace_back(key, std::move(value));
  }
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t from = 0;;) {
    const auto comma = list.find(',', from);
    out.push_back(list.substr(from, comma - from));
    if (comma == std::string::npos) return out;
    from = comma + 1;
  }
}

std::size_t hosts_of(const ConnInfo& info) {
  std::size_t count = 1;
  for (const char* key : {"host", "hostaddr"})
    if (const std::string* list = info.find(key)) count = std::max(count, split(*list).size());
  return count;
}

// The parameters of one of several hosts. A list of one port is for all.
ConnInfo one_host(const ConnInfo& info, std::size_t number) {
  ConnInfo out = info;
  for (auto& [key, value] : out.pairs) {
    if (key != "host" && key != "hostaddr" && key != "port") continue;
    const auto list = split(value);
    if (list.size() > number) value = list[number];
  }
  return out;
}

Result<ConnInfo> parse_url(const PgOptions& options, std::string_view application) {
  char* why = nullptr;
  PQconninfoOption* parsed = PQconninfoParse(options.url.c_str(), &why);
  if (!parsed) {
    const std::string reason = trimmed(why);
    PQfreemem(why);
    return make_error(ErrorCode::InvalidArgument, "store: the PostgreSQL URL cannot be read: " + reason);
  }
  ConnInfo info;
  for (const PQconninfoOption* o = parsed; o->keyword; ++o)
    if (o->val) info.pairs.emplace_back(o->keyword, o->val);
  PQconninfoFree(parsed);
  info.pairs.emplace_back("application_name", std::string(application));
  info.pairs.emplace_back("client_encoding", "UTF8");
  info.fallback("connect_timeout",
                std::to_string(std::max<std::int64_t>(2, options.connect_timeout.count() / 1'000'000)));
  info.fallback("tcp_user_timeout", std::to_string(options.call_timeout.count() / 1000));
  info.fallback("keepalives_idle", "5");
  info.fallback("keepalives_interval", "2");
  info.fallback("keepalives_count", "3");
  if (hosts_of(info) > 1) info.fallback("target_session_attrs", "read-write");  // X16: of several hosts, the primary
  return info;
}

// As libpq reads it: at least two seconds, none when it is not positive.
std::int64_t connect_deadline(const ConnInfo& info) {
  const std::string& text = *info.find("connect_timeout");
  std::int64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr std::int64_t kDay = 86'400;
  return base::steady_micros() + 1'000'000 * (seconds <= 0 ? kDay : std::clamp<std::int64_t>(seconds, 2, kDay));
}

// Empty: connected. Otherwise why not.
std::string finish_connect(pg_conn* connection, std::int64_t deadline, const StopSignal* stop) {
  PostgresPollingStatusType wants = PGRES_POLLING_WRITING;
  while (wants != PGRES_POLLING_OK) {
    if (wants == PGRES_POLLING_FAILED) return trimmed(PQerrorMessage(connection));
    const std::int64_t wait = deadline - base::steady_micros();
    if (wait <= 0) return "the server did not answer within the connect timeout";
    const short events = wants == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    pollfd fds[2] = {{PQsocket(connection), events, 0}, {stop ? stop->fd() : -1, POLLIN, 0}};
    const int ready = ::poll(fds, 2, static_cast<int>(wait / 1000 + 1));
    if (fds[1].revents != 0) return "the store is being closed";
    if (ready > 0) wants = PQconnectPoll(connection);
  }
  return "";
}

std::string connect(const ConnInfo& info, const StopSignal* stop, PgHandle& out) {
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : info.pairs) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
  out.reset(PQconnectStartParams(keys.data(), values.data(), 0));
  if (!out) return "out of memory";
  if (PQstatus(out.get()) == CONNECTION_BAD) return trimmed(PQerrorMessage(out.get()));
  return finish_connect(out.get(), connect_deadline(info), stop);
}

// libpq gives no code here, only words.
ErrorCode code_of(const std::string& reason) {
  const auto says = [&](const char* words) { return reason.find(words) != std::string::npos; };
  if (says("invalid port number") || says("invalid integer value")) return ErrorCode::InvalidArgument;
  if (says("database") && says("does not exist")) return ErrorCode::StoreNotFound;
  return ErrorCode::StoreUnavailable;
}

}  // namespace

void FinishConnection::operator()(pg_conn* connection) const { PQfinish(connection); }

Result<PgHandle> dial(const PgOptions& options, std::string_view application) {
  auto info = parse_url(options, application);
  if (!info) return std::move(info).error();
  std::string reasons;
  for (std::size_t number = 0; number < hosts_of(*info); ++number) {
    PgHandle connection;
    const std::string reason = connect(one_host(*info, number), options.stop.get(), connection);
    if (reason.empty()) return connection;
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  return make_error(code_of(reasons), "store: " + reasons);
}

}  // namespace semel::store::postgres
