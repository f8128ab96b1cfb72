// Talking to the server. What it refuses comes back as an error that can be shown with its words, details and hint.

let token = null;

/** An answer that is not what was asked for. */
export class Refused extends Error {
  constructor(status, answer) {
    super(answer?.error ?? `the server answered with status ${status}`);
    this.status = status;
    this.details = answer?.details ?? [];
    this.hint = answer?.hint ?? null;
    this.rows = answer?.rows ?? [];
  }
}

/** Takes the token out of the address, where nobody else should read it, and keeps it for this tab. */
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

/** Whether this page may write. */
export function mayWrite() {
  return token !== null;
}

/** The JSON at `path`. */
export async function get(path, signal) {
  return answer(await reach(path, { signal, headers: { Accept: "application/json" } }));
}

/** Sends `body` to `path`, with the token. */
export async function post(path, body, type) {
  return answer(
    await reach(path, { method: "POST", body, headers: { "Content-Type": type, "X-Ocorl-Token": token ?? "" } }),
  );
}

/** The same with a JSON body. */
export function postJson(path, value) {
  return post(path, JSON.stringify(value), "application/json");
}

/** What was asked for before the page was there, once. */
function early(path, options) {
  const known = window.ocorlEarly;
  if (options.method || known?.path !== path) return null;
  window.ocorlEarly = null;
  return known.answer;
}

async function reach(path, options) {
  try {
    const known = early(path, options);
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
    // Without JSON the status has to do.
  }
  if (!response.ok) throw new Refused(response.status, content);
  return content;
}
