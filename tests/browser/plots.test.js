// Plots: zoom, reset, logarithmic axes, hidden series, the menu, and (with the mock server) every kind of mark.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { begin, clean, ink, lookAt, ocorl, plot, real, until } from "./harness.js";

let world;
before(async () => {
  world = await begin((folder) =>
    ocorl("run", "pendulum", "--episodes", "6", "--out", join(folder, "runs/pendulum-b"), "-q"),
  );
});
after(() => world.end());

const name = "runs/pendulum-b";
const opened = async (options) => {
  const page = await lookAt(world, name, options);
  await page.waitForSelector('[data-exhibit="cost"] canvas:not(.sample)');
  return page;
};
const menu = (page, exhibit, text) =>
  page
    .locator(`[data-exhibit="${exhibit}"]`)
    .getByRole("button", { name: /^Menu of/ })
    .click()
    .then(() => page.locator(`[data-exhibit="${exhibit}"] .menu-item`, { hasText: text }).first());

test("dragging zooms, a double click shows all again, the address keeps it", async () => {
  const page = await opened();
  const whole = await ink(page, "cost");
  const box = await page.locator('[data-exhibit="cost"] .u-over').first().boundingBox();
  await page.mouse.move(box.x + 0.3 * box.width, box.y + 0.3 * box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.8 * box.width, box.y + 0.9 * box.height, { steps: 5 });
  await page.mouse.up();
  await until(
    () => ink(page, "cost"),
    (now) => now !== whole,
    "a part of the plot",
  );
  assert.match(page.url(), /z\.cost\.0=/);
  assert.match(await page.locator(".episode-caption b").textContent(), /Episode 5/, "a drag is not a click");
  await page.locator('[data-exhibit="cost"] .u-over').first().dblclick();
  await page.mouse.move(5, 5);
  await until(
    () => ink(page, "cost"),
    (now) => now === whole,
    "the whole plot again",
  );
  assert.doesNotMatch(page.url(), /z\.cost\.0=/);
  clean(page);
});

test("a time window is shared by all time plots", async () => {
  const page = await opened();
  await plot(page, "states");
  const other = await ink(page, "states", 1);
  const box = await page.locator('[data-exhibit="states"] .u-over').first().boundingBox();
  await page.mouse.move(box.x + 0.3 * box.width, box.y + 0.5 * box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.7 * box.width, box.y + 0.5 * box.height, { steps: 5 });
  await page.mouse.up();
  await until(
    () => ink(page, "states", 1),
    (now) => now !== other,
    "the same window in the next plot",
  );
  assert.match(page.url(), /window=/);
  clean(page);
});

test("an axis becomes logarithmic and back", async () => {
  const page = await opened();
  const before_ = await ink(page, "regret");
  await (await menu(page, "regret", "Logarithmic y axis")).click();
  await until(
    () => ink(page, "regret"),
    (now) => now !== before_,
    "the other axis",
  );
  assert.match(page.url(), /(log|linear)=regret\.y/);
  await (await menu(page, "regret", "Logarithmic y axis")).click();
  await until(
    () => ink(page, "regret"),
    (now) => now === before_,
    "the first axis",
  );
  assert.doesNotMatch(page.url(), /(log|linear)=/);
  clean(page);
});

test("series are hidden and shown by their legend", async () => {
  const page = await opened();
  const before_ = await ink(page, "cost");
  const entry = page.locator('[data-exhibit="cost"] .legend-entry').first();
  await entry.focus();
  await page.keyboard.press("Enter");
  assert.equal(await entry.getAttribute("aria-pressed"), "false");
  await until(
    () => ink(page, "cost"),
    (now) => now !== before_,
    "one series less",
  );
  await page.keyboard.press("Enter");
  await until(
    () => ink(page, "cost"),
    (now) => now === before_,
    "all series",
  );
  clean(page);
});

test("a plot gives itself away as Python, and as files", async () => {
  const page = await opened({ permissions: ["clipboard-read", "clipboard-write"] });
  await (await menu(page, "cost", "Copy as Python")).click();
  const code = await until(() => page.evaluate(() => navigator.clipboard.readText()), Boolean, "code in the clipboard");
  assert.match(code, /^import matplotlib.pyplot as plt\nimport pandas as pd\n/);
  assert.match(code, /figure\/cost\.csv/);
  if (real) {
    for (const [entry, start] of [
      ["SVG", "<svg"],
      ["PNG", "\x89PNG"],
      ["CSV", "panel,"],
    ]) {
      const href = await (await menu(page, "cost", entry)).getAttribute("href");
      const bytes = Buffer.from(await (await fetch(new URL(href, world.address))).arrayBuffer());
      assert.ok(bytes.toString("latin1").startsWith(start), `${entry}: ${bytes.subarray(0, 20)}`);
      await page.keyboard.press("Escape");
    }
  }
  clean(page);
});

test("a plot is read by keys", async () => {
  const page = await opened();
  await page.locator('[data-exhibit="cost"] .plot').first().focus();
  await page.keyboard.press("ArrowRight");
  await page.locator('[data-exhibit="cost"] .tip').first().waitFor({ state: "visible" });
  const whole = await ink(page, "cost");
  await page.keyboard.press("+");
  await until(
    () => ink(page, "cost"),
    (now) => now !== whole,
    "less of the plot",
  );
  await page.keyboard.press("0");
  await until(
    () => ink(page, "cost"),
    (now) => now === whole,
    "the whole plot",
  );
  clean(page);
});

test(
  "every kind of mark is drawn, in both themes",
  { skip: real && "only the mock server has the gallery" },
  async () => {
    for (const dark of [false, true]) {
      const page = await lookAt(world, "gallery", { dark });
      for (const exhibit of ["curves", "plane", "ranges", "rest"]) {
        for (const panel of [0, 1]) {
          const colors = await (
            await plot(page, exhibit, panel)
          ).evaluate((canvas) => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
          });
          assert.ok(colors > 20, `${exhibit} ${panel}: ${colors} colours`);
        }
      }
      clean(page);
    }
  },
);
