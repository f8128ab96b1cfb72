// Budgets: a large study is painted within a second, the page weighs less than 500 KB, a thousand studies are listed within two seconds.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { begin, clean, itemOf, look, ocorl } from "./harness.js";

const MANY = 1000;

let world;
before(async () => {
  world = await begin(async (folder) => {
    await ocorl("run", "pendulum", "--episodes", "40", "--measurements", "20", "--out", join(folder, "big"), "-q");
    await ocorl("study", "new", join(folder, "seed"), "--system", "pendulum");
    await mkdir(join(folder, "many"));
    for (let i = 0; i < MANY; i += 1)
      await cp(join(folder, "seed"), join(folder, "many", String(i)), { recursive: true });
  });
});
after(() => world.end());

/** Milliseconds from the request for the page until its first plot was drawn, by the page's own clock. */
async function paintTimes(address) {
  const context = await world.browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('[data-exhibit="phase"] svg')) return;
      observer.disconnect();
      requestAnimationFrame(() => {
        window.__plotted = performance.now();
      });
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(address);
  await page.waitForFunction(() => window.__plotted);
  const times = await page.evaluate(() => [
    performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
    window.__plotted,
  ]);
  await context.close();
  return times.map(Math.round);
}

test("40 episodes × 20 measurements: plots stand within a second", async () => {
  const { id } = await itemOf(world, "big");
  const plotted = [];
  // Other work on the machine only makes it slower, so the fastest of a few runs counts.
  while (plotted.length < 6 && !plotted.some((time) => time < 1000)) {
    const [first, plots] = await paintTimes(`${world.address}#/study/${id}`);
    console.log(`first paint after ${first} ms, plots after ${plots} ms`);
    plotted.push(plots);
  }
  assert.ok(Math.min(...plotted) < 1000, `${plotted} ms`);
});

test("the page weighs less than 500 KB", async () => {
  const page = await look(world, "", { writable: false });
  await page.waitForSelector(".study");
  const weight = await page.evaluate(() =>
    [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name }) => !name.includes("/api/"))
      .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
  );
  console.log(`weight: ${(weight / 1000).toFixed(0)} KB`);
  assert.ok(weight > 50_000 && weight < 500_000, `${weight} bytes`);
  clean(page);
});

test("a thousand studies are listed within two seconds", async () => {
  const warm = await look(world);
  await warm.waitForSelector(".study");
  const page = await look(world, "", { writable: false });
  const begun = Date.now();
  await page.reload();
  await page.waitForSelector(".study");
  const time = Date.now() - begun;
  assert.ok((await page.locator(".study").count()) > MANY);
  console.log(`list of ${MANY} studies: ${time} ms`);
  assert.ok(time < 2000, `${time} ms`);
  clean(page);
});
