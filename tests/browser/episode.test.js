// The study's page: verdict, strip of episodes, stage, linked plots, tabs, table; by mouse and by keys alone.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { begin, clean, episodeOf, ink, lookAt, ocorl, until } from "./harness.js";

let world;
before(async () => {
  world = await begin((folder) =>
    ocorl("run", "pendulum", "--episodes", "6", "--out", join(folder, "runs/pendulum-b"), "-q"),
  );
});
after(() => world.end());

const name = "runs/pendulum-b";
const opened = async (query = "") => {
  const page = await lookAt(world, name, { query, width: 1440, height: 900 });
  await page.locator('[data-exhibit="phase"] svg').first().waitFor();
  return page;
};

test("the first screen says whether it learned, how well, and why it measured there, without scrolling", async () => {
  const page = await opened();
  assert.match(await page.locator(".verdict.good").textContent(), /^Learned after \d+ planned episodes? \(\d+ measurements\); final cost 20\.\d+, .+ optimum\.$/);
  for (const part of [".verdict", ".strip", ".stage svg", '[data-exhibit="phase"] svg', '[data-exhibit="uncertainty"] svg', ".tabs"]) {
    const box = await page.locator(part).first().boundingBox();
    assert.ok(box.y >= 0 && box.y + box.height <= 900, `${part} ends at ${box.y + box.height}`);
  }
  assert.match(await page.locator('[data-exhibit="uncertainty"] .about').textContent(), /least certain: ‖σ‖ along it .*fell/);
  clean(page);
});

test("the strip is the slider of episodes: by drag and by keys", async () => {
  const page = await opened();
  assert.equal(await episodeOf(page), 5, "the newest at first");
  const [phase, stage] = [await ink(page, "phase"), await page.locator(".stage").innerHTML()];
  // The strip may just be drawn anew.
  const axes = await until(() => page.locator(".strip svg.wide g.panel").boundingBox(), (box) => box !== null, "the strip");
  const at = (share) => [axes.x + share * axes.width, axes.y + axes.height / 2];
  await page.mouse.move(...at(0.9));
  await page.mouse.down();
  await page.mouse.move(...at(0.3), { steps: 8 });
  await page.mouse.up();
  const dragged = await episodeOf(page);
  assert.ok(dragged >= 1 && dragged <= 2, `episode ${dragged}`);
  await until(() => ink(page, "phase"), (now) => now !== phase, "another phase portrait");
  await until(() => page.locator(".stage").innerHTML(), (now) => now !== stage, "another stage");
  await until(() => page.url(), (now) => /episode=[12]/.test(now), "the episode in the address");
  await page.locator(".strip").focus();
  for (const [key, episode] of [["End", 5], ["ArrowLeft", 4], ["ArrowLeft", 3], ["Home", 0], ["ArrowRight", 1]]) {
    await page.keyboard.press(key);
    await until(() => episodeOf(page), (now) => now === episode, `${key} leads to episode ${episode}`);
  }
  assert.equal(await page.locator(".strip").getAttribute("aria-valuetext"), "episode 1 of 5");
  clean(page);
});

test("Tab alone reaches the strip, the time, and the tabs, visibly", async () => {
  const page = await opened();
  const seen = new Set();
  for (let i = 0; i < 60; i += 1) {
    await page.keyboard.press("Tab");
    const here = await page.evaluate(() => {
      const { activeElement: one } = document;
      const visible = getComputedStyle(one).outlineStyle !== "none";
      return `${one.getAttribute("role") ?? one.type ?? one.tagName} ${visible}`;
    });
    seen.add(here);
  }
  for (const wanted of ["slider true", "range true", "tab true"]) assert.ok(seen.has(wanted), `${wanted}: ${[...seen]}`);
  clean(page);
});

test("the address opens the same view", async () => {
  const page = await opened("?episode=2&t=4&tab=slices");
  assert.equal(await episodeOf(page), 2);
  await page.locator('[data-exhibit="slices"] svg').first().waitFor();
  assert.match(await page.locator(".clock").textContent(), /^4 /);
  await page.locator('[data-exhibit="phase"] .cursor-dot').waitFor();
  clean(page);
});

test("a time under the cursor is shown in all plots; a click keeps it", async () => {
  const page = await opened();
  const panel = await page.locator('[data-exhibit="states"] svg g.panel').first().boundingBox();
  await page.locator('[data-exhibit="states"]').scrollIntoViewIfNeeded();
  const box = await page.locator('[data-exhibit="states"] svg g.panel svg.marks').first().boundingBox();
  assert.ok(panel && box);
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 0.5 * box.height);
  assert.ok((await page.locator('[data-exhibit="states"] .cursor-line').count()) >= 3, "a line in each time plot");
  assert.ok((await page.locator('[data-exhibit="uncertainty"] .cursor-line').count()) >= 1);
  assert.match(await page.locator('[data-exhibit="states"] .readout').textContent(), /(^|: )[45](\.\d+)?, /);
  await page.mouse.click(box.x + 0.5 * box.width, box.y + 0.5 * box.height);
  await until(() => page.locator(".clock").textContent(), (now) => /^[45]/.test(now), "the time on the stage");
  const frame = () => page.locator(".stage g.executed path").first().getAttribute("d");
  const first = await frame();
  await page.getByLabel("Time", { exact: true }).fill("8");
  await until(frame, (now) => now !== first, "the system moves");
  clean(page);
});

test("the system plays and pauses", async () => {
  const page = await opened();
  const clock = () => page.locator(".clock").textContent();
  const begun = await clock();
  await page.getByRole("button", { name: "Play", exact: true }).click();
  await until(clock, (now) => now !== begun, "a later time");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  clean(page);
});

test("tabs open by keys; the table sorts; the plots are files", async () => {
  const page = await opened();
  await page.getByRole("tab", { name: "Over time" }).focus();
  for (let i = 0; i < 6 && !(await page.locator('[data-table="measurements"]').isVisible()); i += 1)
    await page.keyboard.press("ArrowRight");
  const table = page.locator('[data-table="measurements"]');
  assert.equal(await table.locator("tbody tr").count(), 10);
  await table.getByRole("button", { name: "‖σ‖ before", exact: true }).click();
  const column = (await table.locator("thead th").allTextContents()).findIndex((head) => head.trim() === "‖σ‖ before");
  const values = (await table.locator(`tbody tr td:nth-child(${column + 1})`).allTextContents()).map((text) => Number(text.replace("·10", "e").replace("⁻", "-")));
  assert.deepEqual(values.filter(Number.isFinite), values.filter(Number.isFinite).sort((a, b) => a - b));
  await page.getByRole("tab", { name: "Whole study" }).click();
  await page.locator('[data-exhibit="cost"] svg').first().waitFor();
  for (const [entry, start] of [["SVG", "<svg"], ["PNG", "\x89PNG"], ["CSV", "panel,"]]) {
    const href = await page.locator('[data-exhibit="cost"]').getByRole("link", { name: entry }).getAttribute("href");
    const bytes = Buffer.from(await (await fetch(new URL(href, world.address))).arrayBuffer());
    assert.ok(bytes.toString("latin1").startsWith(start), `${entry}: ${bytes.subarray(0, 20)}`);
  }
  clean(page);
});

test("a range is zoomed by mouse and by keys; the server draws it with its own ticks", async () => {
  const page = await opened();
  const card = page.locator('[data-exhibit="phase"]');
  const ends = () => card.locator("svg g.panel").first().getAttribute("data-x");
  const whole = await ends();
  // What is drawn may reach beyond the axes, where it is clipped; their size is in the picture.
  const inside = (group, [x, y]) => {
    const [width, height] = group.dataset.size.split(" ").map(Number);
    const { x: left, y: top } = new DOMPoint(x * width, y * height).matrixTransform(group.getScreenCTM());
    return [left, top];
  };
  const at = (x, y) => card.locator("svg g.panel").first().evaluate(inside, [x, y]);
  const [from, to] = [await at(0.2, 0.2), await at(0.7, 0.8)];
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move(...to, { steps: 5 });
  assert.equal(await card.locator(".zoom-frame").count(), 1);
  await page.mouse.up();
  const part = await until(ends, (now) => now !== whole, "a part of the range");
  const [low, high] = part.split(" ").slice(1, 3).map(Number);
  const [first, last] = whole.split(" ").slice(1, 3).map(Number);
  assert.ok(Math.abs(low - (first + 0.2 * (last - first))) < 0.02 * (last - first), `${part} of ${whole}`);
  assert.ok(Math.abs(high - (first + 0.7 * (last - first))) < 0.02 * (last - first), `${part} of ${whole}`);
  await card.getByRole("button", { name: "Whole range" }).click();
  await until(ends, (now) => now === whole, "the whole range");
  await card.locator('svg[role="img"]').first().focus();
  await page.keyboard.press("+");
  const near = await until(ends, (now) => now !== whole, "a closer view");
  await page.keyboard.press("ArrowRight");
  await until(ends, (now) => now !== near, "a view further right");
  await page.keyboard.press("0");
  await until(ends, (now) => now === whole, "the whole range again");
  assert.equal(await page.evaluate(() => document.activeElement.closest("[data-exhibit]")?.dataset.exhibit), "phase", "the focus stays");
  clean(page);
});

test("scrubbing draws every episode within a frame", async () => {
  const page = await opened();
  // All episodes are loaded in the background.
  await page.waitForLoadState("networkidle");
  const took = await page.evaluate(async () => {
    const strip = document.querySelector(".strip");
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const times = [];
    for (let i = 0; i < 60; i += 1) {
      strip.dispatchEvent(new KeyboardEvent("keydown", { key: i % 12 < 6 ? "ArrowLeft" : "ArrowRight", bubbles: true }));
      const begun = await frame();
      times.push((await frame()) - begun);
    }
    return times.sort((a, b) => a - b);
  });
  console.log(`scrub: median ${took[30].toFixed(1)} ms, worst ${took.at(-1).toFixed(1)} ms per frame`);
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.locator(".strip").focus();
  for (const key of ["Home", "End", "Home"]) await page.keyboard.press(key);
  await until(() => episodeOf(page), (now) => now === 0, "the first episode");
  assert.deepEqual(requests, [], "no request while scrubbing");
  clean(page);
});
