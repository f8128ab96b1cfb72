// The list of studies: everything is there, damaged ones say why, the filter filters, some can be chosen to compare.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { cp, open } from "node:fs/promises";
import { join } from "node:path";
import { begin, clean, look, ocorl, until } from "./harness.js";

let world;
before(async () => {
  world = await begin(async (folder) => {
    await ocorl("run", "pendulum", "--episodes", "3", "--out", join(folder, "runs/pendulum-a"), "-q");
    await ocorl("run", "pendulum", "--episodes", "3", "--seed", "1", "--out", join(folder, "runs/pendulum-b"), "-q");
    await cp(join(folder, "runs/pendulum-a"), join(folder, "broken"), { recursive: true });
    const file = await open(join(folder, "broken/study.db"), "r+");
    await file.write(Buffer.alloc(20000, 0xa5), 0, 20000, 8192);
    await file.close();
  });
});
after(() => world.end());

test("all studies are listed, with a word for their state", async () => {
  const page = await look(world);
  await page.waitForSelector(".study");
  const names = await page.locator(".study-name a").allTextContents();
  for (const name of ["runs/pendulum-a", "runs/pendulum-b", "broken"])
    assert.ok(names.includes(name), `${name} in ${names}`);
  const chips = await page.locator(".study .chip").allTextContents();
  assert.ok(
    chips.every((word) => /^(running|waiting|done|idle|damaged)$/.test(word)),
    String(chips),
  );
  clean(page);
});

test("a damaged study says what is wrong and leaves the others alone", async () => {
  const page = await look(world);
  const row = page.locator(".study", { has: page.getByText("broken", { exact: true }) });
  assert.match(await row.locator(".error-line").textContent(), /^damaged: .+/);
  assert.equal(await row.locator("input").isDisabled(), true);
  clean(page);
});

test("the filter filters, and stays in the address", async () => {
  const page = await look(world);
  await page.waitForSelector(".study");
  await page.getByRole("searchbox").fill("pendulum-b");
  assert.deepEqual(await page.locator(".study-name a").allTextContents(), ["runs/pendulum-b"]);
  assert.match(page.url(), /filter=pendulum-b/);
  await page.getByRole("searchbox").fill("no such thing");
  await page.getByText("No study matches the filter").waitFor();
  clean(page);
});

test("two chosen studies are compared", async () => {
  const page = await look(world);
  await page.getByRole("checkbox", { name: "Compare runs/pendulum-a" }).check();
  assert.match(await page.locator(".tray").textContent(), /select one more/);
  await page.getByRole("checkbox", { name: "Compare runs/pendulum-b" }).check();
  await page.getByRole("link", { name: "Compare" }).click();
  await page.waitForSelector(".exhibit svg");
  const cells = await page.locator("tbody tr td:first-child").allTextContents();
  assert.deepEqual(cells.sort(), ["runs/pendulum-a", "runs/pendulum-b"]);
  clean(page);
});

test("missing pages and studies are reported", async () => {
  const page = await look(world, "#/study/ffffffffffffffff");
  await until(
    () => page.locator("h1").allTextContents(),
    (all) => all.includes("Not found"),
    "a message about a missing study",
  );
  await page.goto(`${world.address}#/nowhere`);
  await page.getByText("Page not found").waitFor();
  clean(page, /status of 404/);
});
