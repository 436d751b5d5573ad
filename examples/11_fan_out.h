// A thousand steps side by side. The workflow of 11_fan_out.cc.
#pragma once

#include <semel/semel.h>

#include <numeric>
#include <vector>

namespace thumbnails {

inline const auto resize = semel::task("resize", [](const int& picture) { return picture % 7; });

inline semel::Workflow<int> album(semel::WorkflowContext& ctx, int pictures) {
  std::vector<semel::Future<int>> resized;
  for (int picture = 0; picture < pictures; ++picture) resized.push_back(ctx.execute(resize, picture));
  auto everything = all(resized);
  const std::vector<int> sizes = co_await everything;
  co_return std::accumulate(sizes.begin(), sizes.end(), 0);
}
inline const auto album_workflow = semel::workflow("album", album);

}  // namespace thumbnails
