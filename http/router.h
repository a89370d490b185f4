// Which handler answers a method and a path. Immutable once built, so any thread may ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"

namespace banyan::http {

class Router {
 public:
  // A path without a leading '/', a second route for one method and path, or an empty handler is a
  // programmer's error.
  explicit Router(std::vector<Server::Route> routes);

  struct Match {
    const Handler* handler = nullptr;  // nullptr: no route for that method
    // The methods of the path, as the Allow header names them; empty: no route has that path.
    std::string allow;
  };
  // An exact path wins over a prefix, a longer prefix over a shorter one. "/v1/models/*" takes
  // every path that begins with "/v1/models/" and goes on. HEAD finds the handler of GET.
  Match Find(std::string_view method, std::string_view path) const;

 private:
  // The routes that share one path.
  struct Place {
    std::string path;  // without the '*'
    bool prefix = false;
    std::vector<Server::Route> routes;
  };
  const Place* FindPlace(std::string_view path) const;

  std::vector<Place> places_;  // exact ones first, then prefixes from long to short
};

}  // namespace banyan::http
