// The store without the engine: how fast the same rows can be written by raw statements.
#include "cli/bench/bench.h"
#include "cli/wiring.h"

namespace semel::cli::bench {

Ran run_limits(Session& session, const Options& options, Report& report) {
  {
    // Makes the tables.
    auto opened = open_for_bench(session, options, false);
    if (!opened) return opened.error();
  }
  session.close();
  auto url = parse_store_url(session.settings().store);
  if (!url) return url.error();
  report.add("count", options.count);
  auto measured = url->backend == Backend::sqlite ? limits_sqlite(url->target, options, report)
                                                  : limits_postgres(url->target, options, report);
  if (!measured) return measured.error();
  return kDone;
}

}  // namespace semel::cli::bench
