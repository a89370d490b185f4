#include "http/router.h"

#include <algorithm>

#include "base/check.h"

namespace banyan::http {

Router::Router(std::vector<Server::Route> routes) {
  for (Server::Route& route : routes) {
    CHECK(route.path.starts_with('/'));
    CHECK(route.handler != nullptr);
    const bool prefix = route.path.ends_with("/*");
    const std::string path = route.path.substr(0, route.path.size() - (prefix ? 1 : 0));
    auto place = std::find_if(places_.begin(), places_.end(),
                              [&](const Place& p) { return p.prefix == prefix && p.path == path; });
    if (place == places_.end()) {
      Place added;
      added.path = path;
      added.prefix = prefix;
      place = places_.insert(places_.end(), std::move(added));
    }
    for (const Server::Route& other : place->routes) CHECK(other.method != route.method);
    place->routes.push_back(std::move(route));
  }
  std::stable_sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
    if (a.prefix != b.prefix) return b.prefix;
    return a.prefix && a.path.size() > b.path.size();
  });
}

Router::Match Router::Find(std::string_view method, std::string_view path) const {
  Match match;
  const Place* place = FindPlace(path);
  if (place == nullptr) return match;
  for (const Server::Route& route : place->routes) {
    const bool get = route.method == "GET";
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += get ? "GET, HEAD" : route.method;
    if (route.method == method || (get && method == "HEAD")) match.handler = &route.handler;
  }
  return match;
}

const Router::Place* Router::FindPlace(std::string_view path) const {
  for (const Place& place : places_) {
    const bool here = place.prefix ? path.size() > place.path.size() && path.starts_with(place.path)
                                   : path == place.path;
    if (here) return &place;
  }
  return nullptr;
}

}  // namespace banyan::http
