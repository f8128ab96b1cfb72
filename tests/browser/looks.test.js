// Every page in a wide and a narrow window, light and dark: no horizontal overflow, touch targets large enough; screenshots of all.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { begin, clean, itemOf, look, ocorl, pictures } from "./harness.js";

let world;
before(async () => {
  await mkdir(pictures, { recursive: true });
  world = await begin(async (folder) => {
    await ocorl("run", "pendulum", "--episodes", "6", "--out", join(folder, "runs/pendulum-a"), "-q");
    await ocorl(
      "run",
      "pendulum",
      "--episodes",
      "6",
      "--seed",
      "1",
      "--strategy",
      "equidistant",
      "--out",
      join(folder, "runs/pendulum-b"),
      "-q",
    );
    await ocorl("run", "bicycle", "--episodes", "3", "--out", join(folder, "runs/bicycle"), "-q");
    await ocorl("study", "new", join(folder, "lab"), "--system", "pendulum", "--episodes", "5");
    await ocorl("study", "ask", join(folder, "lab"));
    await writeFile(
      join(folder, "grid.toml"),
      'systems = ["pendulum"]\nseeds = 2\n[set]\nepisodes = 2\n[vary]\nstrategy = ["max-determinant", "equidistant"]\n',
    );
    await ocorl("sweep", join(folder, "grid.toml"), "--out", join(folder, "sweeps/table1"), "-q");
  });
});
after(() => world.end());

async function pages() {
  const id = async (name) => (await itemOf(world, name)).id;
  return {
    list: "",
    study: `#/study/${await id("runs/pendulum-a")}?episode=4&t=3`,
    bicycle: `#/study/${await id("runs/bicycle")}?t=4`,
    lab: `#/study/${await id("lab")}`,
    compare: `#/compare?ids=${await id("runs/pendulum-a")},${await id("runs/pendulum-b")}`,
    sweep: `#/sweep/${await id("sweeps/table1")}`,
  };
}

for (const [size, width, height] of [
  ["desktop", 1440, 900],
  ["tablet", 1024, 768],
  ["phone", 390, 844],
]) {
  for (const theme of ["light", "dark"]) {
    test(`${size}, ${theme}`, async () => {
      for (const [name, fragment] of Object.entries(await pages())) {
        const page = await look(world, fragment, { width, height, dark: theme === "dark" });
        await page.waitForSelector("h1");
        // Plots are drawn when they come into view, which makes the page longer.
        for (let full = 0, last = -1, i = 0; full !== last && i < 10; i += 1) {
          last = full;
          full = await page.evaluate(() => document.documentElement.scrollHeight);
          await page.setViewportSize({ width, height: Math.min(Math.max(full, height), 8000) });
          if (fragment.includes("episode=")) await page.waitForSelector('[data-exhibit="states"] svg');
          await page.waitForTimeout(700);
        }
        await page.screenshot({ path: join(pictures, `${name}-${size}-${theme}.png`) });
        const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(scroll <= inner, `${name}: ${scroll} px in a window of ${inner}`);
        if (size === "phone") assert.deepEqual(await tooSmall(page), [], name);
        clean(page);
        await page.context().close();
      }
    });
  }
}

/** Controls that are too small to touch. */
function tooSmall(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("button, select, input:not([type=checkbox]), summary, .button, .tick")]
      .filter((control) => control.checkVisibility() && control.getBoundingClientRect().height > 0)
      .filter((control) => control.getBoundingClientRect().height < 40 - 0.5)
      .map(
        (control) =>
          `${control.tagName} ${control.className} ${control.textContent.slice(0, 20)} ${control.getBoundingClientRect().height}`,
      ),
  );
}

test("the theme follows the system, then the choice, which is kept", async () => {
  const page = await look(world, "", { dark: true });
  await page.waitForSelector(".study");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.emulateMedia({ colorScheme: "light" });
  const light = await ground();
  assert.notEqual(dark, light);
  await page.getByRole("button", { name: "Switch to dark colours" }).click();
  assert.equal(await ground(), dark);
  await page.reload();
  await page.waitForSelector(".study");
  assert.equal(await ground(), dark, "the choice is forgotten");
  clean(page);
});

test("plots change their colours with the theme", async () => {
  const { id } = await itemOf(world, "runs/pendulum-a");
  const page = await look(world, `#/study/${id}`);
  const frame = page.locator('[data-exhibit="phase"] svg[role="img"] > rect').first();
  await frame.waitFor();
  const color = () => frame.evaluate((element) => getComputedStyle(element).fill);
  const light = await color();
  await page.getByRole("button", { name: "Switch to dark colours" }).click();
  assert.notEqual(await color(), light);
  clean(page);
});

test("without script the page says what to do", async () => {
  const context = await world.browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(world.address);
  await page.locator("noscript code").waitFor({ state: "visible" });
  assert.equal(await page.locator("noscript code").textContent(), "ocorl report STUDY --out report.html");
  await context.close();
});
