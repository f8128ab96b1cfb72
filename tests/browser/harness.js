// Test support: a folder of studies, a server for it, a browser, and a record of errors on its pages.
// OCORL_BIN names the program.
import { spawn, execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
export const pictures = join(here, "../../target/browser");
export const program = process.env.OCORL_BIN ?? join(here, "../../target/debug/ocorl");
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** Runs the real program; returns its standard output. */
export async function ocorl(...args) {
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 1e9 });
  return stdout;
}

/** Starts the real program in the background. */
export function ocorlBeside(...args) {
  return spawn(program, args, { stdio: "ignore" });
}

/** Starts a server for a new folder, and a browser; `prepare(folder)` creates the studies. */
export async function begin(prepare = async () => {}) {
  const folder = await mkdtemp(join(tmpdir(), "ocorl-browser-"));
  await prepare(folder);
  const { child, address, url } = await serve(folder);
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  assert.ok(existsSync(executablePath), `no browser at ${executablePath}; set CHROMIUM`);
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  const end = async () => {
    await browser.close();
    child.kill("SIGINT");
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  return { folder, address, url, browser, child, end };
}

/** Starts the server and reads the one JSON document it prints. */
export async function serve(folder, port = 0) {
  const args = ["watch", folder, "--port", String(port), "--json"];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const said = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      try {
        resolve(JSON.parse(text));
      } catch {
        // The document is not complete yet.
      }
    });
    child.on("exit", (code) => reject(new Error(`the server ended with code ${code}: ${text}`)));
  });
  return { child, ...said };
}

/** Milliseconds after which a wait has failed. A loaded machine needs seconds for what an idle one does at once. */
const PATIENCE = 60000;

/** Opens a page that records its errors in `page.trouble`, and requests to other hosts in `page.outside`. */
export async function look(
  world,
  fragment = "",
  { width = 1280, height = 900, dark = false, writable = true, ...rest } = {},
) {
  const context = await world.browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    ...rest,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  Object.assign(page, { trouble: [], outside: [] });
  await page.addInitScript(() => {
    window.__hit = 0;
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  page.on("console", (message) => message.type() === "error" && page.trouble.push(message.text()));
  page.on("pageerror", (error) => page.trouble.push(error.stack ?? String(error)));
  page.on("dialog", (dialog) => {
    page.trouble.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on(
    "request",
    (request) =>
      !/^(blob|data):/.test(request.url()) &&
      !request.url().startsWith(world.address) &&
      page.outside.push(request.url()),
  );
  if (writable) {
    await page.goto(world.url);
    await page.waitForFunction(() => location.hash === "#/" || location.hash === "");
  }
  await page.goto(`${world.address}${fragment}`);
  return page;
}

/** Asserts that the page had no errors, except for messages that match `allowed`. */
export function clean(page, allowed = /^$/) {
  assert.deepEqual(
    page.trouble.filter((message) => !allowed.test(message)),
    [],
  );
  assert.deepEqual(page.outside, []);
}

/** The list item of the study with this name. */
export async function itemOf(world, name) {
  const { items } = await (await fetch(`${world.address}api/studies`)).json();
  const item = items.find((candidate) => candidate.name === name);
  assert.ok(
    item,
    `no study '${name}' in the list: ${items
      .map((one) => one.name)
      .slice(0, 20)
      .join(", ")}`,
  );
  return item;
}

/** Opens the page of the study with this name. */
export async function lookAt(world, name, { query = "", ...options } = {}) {
  const { id } = await itemOf(world, name);
  const page = await look(world, `#/study/${id}${query}`, options);
  await page.waitForSelector(".study-page");
  return page;
}

/** The picture of a plot as text, for comparison; its cursor is left out. */
export async function ink(page, exhibit, panel = 0) {
  const svg = page.locator(`[data-exhibit="${exhibit}"] .pictures svg[role="img"]`).nth(panel);
  await svg.waitFor();
  return svg.evaluate((element) => {
    const copy = element.cloneNode(true);
    copy.querySelectorAll(".cursor").forEach((cursor) => cursor.remove());
    return copy.outerHTML;
  });
}

/** The number of the episode that is shown. */
export async function episodeOf(page) {
  const text = await page.locator(".episode-caption b").textContent();
  return Number(text.replace("Episode ", ""));
}

/** Waits until the result of `look_` satisfies `fits`. */
export async function until(look_, fits, what, limit = PATIENCE) {
  const begun = Date.now();
  let seen;
  do {
    seen = await look_();
    if (fits(seen)) return seen;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  } while (Date.now() - begun < limit);
  assert.fail(`${what}: still ${JSON.stringify(seen)?.slice(0, 300)} after ${limit} ms`);
}
