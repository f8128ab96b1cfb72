// The view of one episode: slider, keys, playback, links between plots, table of measurements.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { begin, clean, ink, lookAt, ocorl, plot, until } from "./harness.js";

let world;
before(async () => {
  world = await begin((folder) =>
    ocorl("run", "pendulum", "--episodes", "6", "--out", join(folder, "runs/pendulum-b"), "-q"),
  );
});
after(() => world.end());

const name = "runs/pendulum-b";
const caption = (page) => page.locator(".episode-caption b").textContent();

test("the slider moves all plots of the episode", async () => {
  const page = await lookAt(world, name);
  await plot(page, "states");
  assert.equal(await caption(page), "Episode 5", "the newest at first");
  const before_ = [await ink(page, "states"), await ink(page, "phase")];
  await page.locator("#episode").fill("1");
  await until(
    () => caption(page),
    (now) => now === "Episode 1",
    "the caption beside the slider",
  );
  await until(
    () => ink(page, "states"),
    (now) => now !== before_[0],
    "other states",
  );
  await until(
    () => ink(page, "phase"),
    (now) => now !== before_[1],
    "another phase portrait",
  );
  assert.match(page.url(), /episode=1/);
  clean(page);
});

test("the address opens the same view", async () => {
  const page = await lookAt(world, name, { query: "?episode=2&t=4&window=2,8&log=regret.y" });
  assert.equal(await caption(page), "Episode 2");
  await plot(page, "states");
  await page.locator('[data-exhibit="states"] .pin').first().waitFor({ state: "visible" });
  const clock = page.locator(".clock");
  if (await clock.isVisible()) assert.match(await clock.textContent(), /^4 /);
  clean(page);
});

test("with keys alone: to the slider by Tab, through the episodes by arrows", async () => {
  const page = await lookAt(world, name);
  await until(
    () => caption(page),
    (now) => now === "Episode 5",
    "the newest",
  );
  await page.evaluate(() => document.activeElement?.blur());
  let reached = false;
  for (let i = 0; i < 80 && !reached; i += 1) {
    await page.keyboard.press("Tab");
    reached = await page.evaluate(() => document.activeElement?.id === "episode");
  }
  assert.ok(reached, "Tab does not reach the slider");
  assert.ok(
    await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== "none"),
    "the focus is not seen",
  );
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await until(
    () => caption(page),
    (now) => now === "Episode 3",
    "two to the left",
  );
  await page.keyboard.press("Home");
  await until(
    () => caption(page),
    (now) => now === "Episode 0",
    "the first",
  );
  clean(page);
});

test("a click in an episode plot selects the episode", async () => {
  const page = await lookAt(world, name);
  await plot(page, "cost");
  const over = page.locator('[data-exhibit="cost"] .u-over').first();
  await over.waitFor();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + 0.4 * box.width, box.y + 0.3 * box.height);
  await page.mouse.click(box.x + 0.4 * box.width, box.y + 0.3 * box.height);
  await until(
    () => caption(page),
    (now) => /Episode [123]/.test(now),
    "the clicked episode",
  );
  clean(page);
});

test("the cursor shows values, and the same time in all time plots", async () => {
  const page = await lookAt(world, name);
  const over = page.locator('[data-exhibit="states"] .u-over');
  await plot(page, "states");
  await plot(page, "states", 1);
  const box = await over.first().boundingBox();
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 0.5 * box.height);
  await page.locator('[data-exhibit="states"] .tip').first().waitFor({ state: "visible" });
  assert.match(await page.locator('[data-exhibit="states"] .tip').first().textContent(), /^time [45]\.?\d*/);
  const lines = await page.locator('[data-exhibit="states"] .u-cursor-x:not(.u-off)').count();
  assert.ok(lines >= 2, `${lines} cursor lines`);
  clean(page);
});

test("a click on a measurement marks its row, the table sorts", async () => {
  const page = await lookAt(world, name);
  const table = page.locator('[data-table="measurements"]');
  await table.locator("tbody tr").first().waitFor();
  const rows = await table.locator("tbody tr").count();
  assert.equal(rows, 10);
  await plot(page, "states");
  const box = await page.locator('[data-exhibit="states"] .u-over').first().boundingBox();
  let found = false;
  for (let i = 0; i <= 60 && !found; i += 1) {
    for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      await page.mouse.click(box.x + (i / 60) * (box.width - 1), box.y + share * box.height);
      found = (await table.locator("tr.marked").count()) === 1;
      if (found) break;
    }
  }
  assert.ok(found, "no click marked a row");
  await table.getByRole("button", { name: "t", exact: true }).click();
  await table.getByRole("button", { name: "t", exact: true }).click();
  const column = (await table.locator("thead th").allTextContents()).findIndex((head) => head.trim() === "t");
  const times = (await table.locator(`tbody tr td:nth-child(${column + 1})`).allTextContents()).map(Number);
  assert.deepEqual(
    times,
    [...times].sort((a, b) => b - a),
  );
  clean(page);
});

test("playing goes through the episodes and ends at the last", async () => {
  const page = await lookAt(world, name, { query: "?episode=3" });
  await page.getByRole("button", { name: "Play all episodes" }).click();
  await until(
    () => caption(page),
    (now) => now === "Episode 5",
    "the last episode",
  );
  clean(page);
});

test("the animation plays, and moves the lines in the time plots", async () => {
  const page = await lookAt(world, name);
  const stage = page.locator(".stage");
  await stage.waitFor({ state: "visible" });
  await stage.scrollIntoViewIfNeeded();
  const clock = () => page.locator(".clock").textContent();
  const begun = await clock();
  await page.getByRole("button", { name: "Play", exact: true }).click();
  await until(clock, (now) => now !== begun, "a later time");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  assert.equal(await page.locator('[data-exhibit="states"] .pin').first().isVisible(), true);
  clean(page);
});
