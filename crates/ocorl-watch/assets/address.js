// The state of the view, kept in the fragment of the address so that it can be shared: #/study/ID?episode=3&log=cost.y

/** Parses the fragment into path segments and query parameters. */
export function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { route: path.split("/").filter(Boolean).map(decode), params: new URLSearchParams(query) };
}

function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Builds the fragment of a route with parameters; empty ones are left out. */
export function to(route, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = given.map(([key, value]) => `${key}=${plain(value)}`).join("&");
  return `#/${route.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

function plain(value) {
  return encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%3A", ":");
}

/** One parameter of the present address. */
export function param(key) {
  return read().params.get(key);
}

/** Changes parameters of the present address without a history entry; `null` removes one. */
export function note(changes) {
  const { route, params } = read();
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") params.delete(key);
    else params.set(key, value);
  }
  const fragment = to(route, Object.fromEntries(params));
  if (fragment !== location.hash) history.replaceState(null, "", fragment);
}

/** A parameter that is a comma-separated list. */
export function list(key) {
  return (param(key) ?? "").split(",").filter(Boolean);
}
