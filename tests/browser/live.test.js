// A running study: the page follows it without a reload, and reports a lost connection.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { begin, clean, look, lookAt, ocorlBeside, serve, until } from "./harness.js";

let world;
before(async () => {
  world = await begin();
});
after(() => world.end());

/** The exit code of a child, also of one that has ended already. */
const ended = (child) =>
  new Promise((resolve) => {
    if (child.exitCode === null) child.on("exit", resolve);
    else resolve(child.exitCode);
  });

test("a study that begins appears in the list, and its numbers grow", async () => {
  const page = await look(world);
  await page.waitForSelector("h1");
  await page.evaluate(() => {
    window.__same = true;
  });
  const name = "pendulum";
  const child = ocorlBeside("run", "pendulum", "--episodes", "4", "--out", join(world.folder, "pendulum"), "-q");
  const row = page.locator(".study", { has: page.getByText(name, { exact: true }) });
  const text = async () => ((await row.count()) > 0 ? row.locator(".progress-cell").textContent() : "");
  const first = await until(text, (now) => / of \d+ episodes/.test(now), "the new study in the list", 20000);
  assert.equal(await ended(child), 0);
  await until(text, (now) => now.startsWith("4 of 4"), "all four episodes");
  assert.ok(first);
  assert.equal(await page.evaluate(() => window.__same), true, "the page was loaded again");
  clean(page);
});

test("the page of a running study moves by itself", async () => {
  const out = join(world.folder, "long");
  const child = ocorlBeside("run", "cart-pole", "--episodes", "6", "--out", out, "-q");
  await until(
      async () => (await (await fetch(`${world.address}api/studies`)).json()).items.map((item) => item.name),
      (names) => names.includes("long"),
      "the study",
      20000,
    );
  const page = await lookAt(world, "long");
  await page.evaluate(() => {
    window.__same = true;
  });
  await page.locator(".live-card").waitFor({ state: "visible", timeout: 20000 });
  assert.match(await page.locator(".live-caption").textContent(), /^Episode \d+ /);
  const caption = () => page.locator(".episode-caption").textContent();
  const before_ = await caption();
  await until(caption, (now) => now !== before_, "another episode on the page", 60000);
  const picture = () => page.locator(".strip svg.wide").evaluate((svg) => svg.querySelector(".marks").outerHTML);
  await page.locator(".strip svg.wide").waitFor({ timeout: 60000 });
  const first = await picture();
  await until(picture, (now) => now !== first, "a longer strip", 60000);
  assert.equal(await page.evaluate(() => window.__same), true, "the page was loaded again");
  clean(page);
  child.kill("SIGINT");
  await ended(child);
});

test("without the server the page says so, and finds it again", async () => {
  const { child, address } = await serve(world.folder);
  const page = await look({ ...world, address }, "", { writable: false });
  const state = () => page.locator("#link").textContent();
  await until(state, (now) => now === "live", "a connection");
  child.removeAllListeners("exit");
  child.kill("SIGKILL");
  await until(state, (now) => now === "no connection, trying again", "the broken connection");
  const again = await serve(world.folder, Number(new URL(address).port));
  await until(state, (now) => now === "live", "the connection again", 40000);
  again.child.removeAllListeners("exit");
  again.child.kill("SIGINT");
  assert.deepEqual(page.outside, []);
});
