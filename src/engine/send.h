// How a use case hands its operation to the writer and maps the answer back. For the .cc files of the engine.
#pragma once

#include <utility>

#include "engine/engine.h"

namespace semel::engine {

template <class Op, class T, class Map>
void Engine::send(Op operation, Callback<T> done, Map map) {
  using Good = typename core::AnswerOf<Op>::type;
  writer_.submit(std::move(operation), [done = std::move(done), map = std::move(map)](core::Answer answer) mutable {
    if (auto* error = std::get_if<Error>(&answer)) return done(std::move(*error));
    done(map(std::get<Good>(std::move(answer))));
  });
}

template <class Op>
void Engine::send(Op operation, Callback<typename core::AnswerOf<Op>::type> done) {
  using Good = typename core::AnswerOf<Op>::type;
  send<Op, Good>(std::move(operation), std::move(done), [](Good good) -> Result<Good> { return good; });
}

}  // namespace semel::engine
