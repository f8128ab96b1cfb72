// A mock of `ocorl watch` for work on the page: same routes, same headers, synthetic studies.
// Usage: node mock/server.js watch DIR --port 0 --json (of DIR only the names of the folders in DIR/hostile are read)
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { episodeView, idOf, item, motionOf, studies, study, sweep } from "./fixtures.js";

const assets = join(dirname(fileURLToPath(import.meta.url)), "../../../crates/ocorl-watch/assets");
const port = Number(process.argv[process.argv.indexOf("--port") + 1]) || 0;
const TOKEN = "0123456789abcdef0123456789abcdef";
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
const SAFE = {
  "Content-Security-Policy":
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
};

const all = studies();
const hostile = join(process.argv[3] ?? "", "hostile");
(existsSync(hostile) ? readdirSync(hostile) : []).forEach((name, i) => {
  const id = idOf(1000 + i);
  all.set(id, study({ id, name: `hostile/${name}`, episodes: 1, of: 1, notes: [name] }));
});
const listeners = new Set();
const live = { episode: 3, t: 0, since: 0 };

function liveNow() {
  const motion = motionOf("cart-pole", live.episode);
  const count = Math.floor((live.t / 10) * 200);
  return {
    episode: live.episode,
    phase: live.t < 0 ? "planning" : "running",
    pid: 1,
    at: new Date().toISOString(),
    since: live.since,
    t: live.t < 0 ? null : live.t,
    horizon: 10,
    start: 0,
    path: live.t < 0 ? null : { t: motion.t.slice(0, count), x: motion.x.slice(0, count), u: motion.u.slice(0, count) },
    costs: all.get(idOf(1)).costs,
  };
}

setInterval(() => {
  live.t += 0.25;
  live.since += 0.1;
  if (live.t > 10) {
    live.episode += 1;
    Object.assign(live, { t: -2, since: 0 });
    all.set(
      idOf(1),
      study({
        id: idOf(1),
        name: "runs/cart-pole-live",
        system: "cart-pole",
        episodes: live.episode,
        of: 40,
        live: true,
      }),
    );
    tell("change", { id: idOf(1), head: live.episode });
  }
  tell("live", { id: idOf(1), live: liveNow() }, idOf(1));
}, 100).unref();

function tell(event, data, only) {
  for (const { response, study: id } of listeners)
    if (!only || only === id) response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

function list() {
  const items = [...all.values()].map((found) => item({ ...found, live: found.live }));
  items.push({
    id: idOf(98),
    kind: "sweep",
    name: "sweeps/table1",
    title: "Sweep table1",
    cells: 12,
    of: 21,
    status: "running",
    updated: new Date().toISOString(),
    error: null,
  });
  items.push({
    id: idOf(99),
    kind: "study",
    name: "broken",
    title: null,
    system: null,
    strategy: null,
    seed: null,
    episodes: null,
    of: null,
    measurements: null,
    last_cost: null,
    best_cost: null,
    status: "damaged",
    pending: null,
    updated: "2026-01-02T03:04:05Z",
    error: "study.db, record 17: the checksum does not fit",
  });
  return { root: "studies", version: "0.1.0", writable: true, items };
}

const refusal = (status, error, details = [], hint = null, rows) => ({
  status,
  body: { error, details, hint, ...(rows ? { rows } : {}) },
});
const ok = (body) => ({ status: 200, body });

async function answer(request, url, body) {
  const [, api, kind, id, what, more] = url.pathname.split("/");
  if (api !== "api") return null;
  if (kind === "studies") return ok(list());
  if (kind === "sweep") return ok(sweep(id));
  if (kind === "compare") return compare(url.searchParams.get("ids").split(","));
  const found = all.get(id);
  if (kind !== "study" || !found)
    return refusal(404, "there is no such study", [["id", id ?? ""]], "The list shows those there are.");
  if (request.method === "POST") return write(request, found, what, body);
  if (!what) return ok({ summary: found.summary, exhibits: found.exhibits });
  if (what === "live") return ok(found.live ? liveNow() : null);
  if (what === "episode") {
    const view = episodeView(found, Number(more));
    return view ? ok(view) : refusal(404, `there is no episode ${more}`);
  }
  return refusal(404, "the mock server has no such route");
}

function compare(ids) {
  const found = ids.map((id) => all.get(id)).filter(Boolean);
  if (found.length < 2) return refusal(400, "two to twenty studies can be compared");
  const [first] = found;
  const exhibits = first.exhibits.slice(0, 2).map((exhibit, i) => ({
    ...exhibit,
    figure: {
      ...exhibit.figure,
      panels: exhibit.figure.panels.map((panel, p) => ({
        ...panel,
        marks: found.flatMap((one, s) =>
          one.exhibits[i].figure.panels[p].marks
            .filter((mark) => mark.kind === "line" && mark.dash === "solid")
            .map((mark) => ({ ...mark, label: one.name, color: { series: s } })),
        ),
      })),
    },
  }));
  return ok({ exhibits, studies: found.map((one) => item(one)) });
}

function write(request, found, what, body) {
  if (request.headers["x-ocorl-token"] !== TOKEN)
    return refusal(403, "the token is missing or wrong", [], "Open the address that `ocorl watch` printed.");
  if (what === "note") found.summary.notes.push(JSON.parse(body).text);
  else if (what === "measured") {
    const bad = body.split("\n").findIndex((line, i) => i > 0 && /nan|x/i.test(line));
    if (bad >= 0) {
      const column =
        body
          .split("\n")
          [bad].split(",")
          .findIndex((cell) => /nan|x/i.test(cell)) + 1;
      return refusal(
        422,
        "nothing was stored: a number is missing",
        [["place", `measured.csv, line ${bad + 1}, column ${column}`]],
        "Correct the file and upload it again.",
        [{ line: bad + 1, column, message: "'nan' is not a finite number" }],
      );
    }
    Object.assign(
      found,
      study({
        ...found,
        id: found.id,
        name: found.name,
        episodes: found.summary.episodes + 1,
        hardware: true,
        notes: found.summary.notes,
      }),
    );
    tell("change", { id: found.id, head: 1 });
    return ok({
      episode: found.summary.episodes - 1,
      stored: 10,
      known: 0,
      notes: ["2 measurements came late"],
      closed: true,
    });
  }
  tell("change", { id: found.id, head: 1 });
  return ok({});
}

createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  if (url.pathname === "/api/events") {
    response.writeHead(200, { ...SAFE, "Content-Type": "text/event-stream" });
    response.write(": hello\n\n");
    const listener = { response, study: url.searchParams.get("study") };
    listeners.add(listener);
    response.on("close", () => listeners.delete(listener));
    return;
  }
  const found = await answer(request, url, Buffer.concat(chunks).toString());
  if (found) {
    response.writeHead(found.status, { ...SAFE, "Content-Type": "application/json" }).end(JSON.stringify(found.body));
    return;
  }
  const name = url.pathname === "/" ? "index.html" : normalize(url.pathname).replace(/^\/assets\//, "");
  try {
    const content = await readFile(join(assets, name));
    response.writeHead(200, { ...SAFE, "Content-Type": TYPES[extname(name)] ?? "text/plain" }).end(content);
  } catch {
    response.writeHead(404, SAFE).end();
  }
}).listen(port, "127.0.0.1", function listening() {
  const address = `http://127.0.0.1:${this.address().port}/`;
  process.stdout.write(`${JSON.stringify({ address, url: `${address}#token=${TOKEN}` })}\n`);
});
