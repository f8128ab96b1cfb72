// Requests to the server. A refused request throws an error with the message, details and hint of the server.

let token = null;

/** An answer with an error status. */
export class Refused extends Error {
  constructor(status, answer) {
    super(answer?.error ?? `the server answered with status ${status}`);
    this.status = status;
    this.details = answer?.details ?? [];
    this.hint = answer?.hint ?? null;
    this.rows = answer?.rows ?? [];
  }
}

/** Moves the token from the address to the storage of this tab, so that it is not shared by accident. */
export function takeToken() {
  const found = /(?:^#|&)token=([0-9A-Za-z_-]+)/.exec(location.hash);
  try {
    if (found) sessionStorage.setItem("ocorl-token", found[1]);
    token = found?.[1] ?? sessionStorage.getItem("ocorl-token");
  } catch {
    token = found?.[1] ?? null;
  }
  if (found) history.replaceState(null, "", "#/");
}

/** Whether the page has a token. */
export function mayWrite() {
  return token !== null;
}

/** Fetches the JSON at `path`. */
export async function get(path, signal) {
  return answer(await reach(path, { signal, headers: { Accept: "application/json" } }));
}

/** Fetches the text at `path`: a drawing. */
export async function getText(path, signal) {
  const response = await reach(path, { signal });
  return response.ok ? response.text() : answer(response);
}

/** Sends `body` to `path` with the token. */
export async function post(path, body, type) {
  return answer(
    await reach(path, { method: "POST", body, headers: { "Content-Type": type, "X-Ocorl-Token": token ?? "" } }),
  );
}

/** Sends a JSON body to `path` with the token. */
export function postJson(path, value) {
  return post(path, JSON.stringify(value), "application/json");
}

/** The answer that preload.js requested before the modules were loaded; at most once. */
function preloaded(path, options) {
  const known = window.ocorlPreload;
  if (options.method || known?.path !== path) return null;
  window.ocorlPreload = null;
  return known.answer;
}

async function reach(path, options) {
  try {
    const known = preloaded(path, options);
    if (known) return await known;
    return await fetch(path, { cache: "no-store", credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { error: "the server does not answer", hint: "Is `ocorl watch` still running?" });
  }
}

async function answer(response) {
  let content = null;
  try {
    content = await response.json();
  } catch {
    // Without a JSON body the status has to suffice.
  }
  if (!response.ok) throw new Refused(response.status, content);
  return content;
}
