// What is looked at, kept in the fragment of the address, so that a view can be shared: #/study/ID?episode=3&log=cost.y

/** The route as a list of words, and the parameters. */
export function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { route: path.split("/").filter(Boolean).map(decode), params: new URLSearchParams(query) };
}

function decode(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

/** The fragment of a route. */
export function to(route, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = given.map(([key, value]) => `${key}=${plain(value)}`).join("&");
  return `#/${route.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

function plain(value) {
  return encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%3A", ":");
}

/** One parameter of the present view. */
export function param(key) {
  return read().params.get(key);
}

/** Changes parameters of the present view without a step in the history; `null` removes one. */
export function note(changes) {
  const { route, params } = read();
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") params.delete(key);
    else params.set(key, value);
  }
  const fragment = to(route, Object.fromEntries(params));
  if (fragment !== location.hash) history.replaceState(null, "", fragment);
}

/** A parameter that is a list. */
export function list(key) {
  return (param(key) ?? "").split(",").filter(Boolean);
}
