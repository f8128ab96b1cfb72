// The report of each of the nine systems is one file that opens without errors, with and without JavaScript.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { stat } from "node:fs/promises";
import { begin, look, ocorl, pictures } from "./harness.js";

const SYSTEMS = [
  "cancer-treatment",
  "glucose-in-blood",
  "pendulum",
  "mountain-car",
  "cart-pole",
  "bicycle",
  "furuta-pendulum",
  "quadrotor-2d",
  "quadrotor-3d",
];
/** Settings of short runs: the reports are tested, not the results. */
const QUICK = ["plan.intervals=50", "plan.random_starts=0", "model.restarts=0", "track.policy=feedback"].flatMap(
  (setting) => ["--set", setting],
);

let world;
before(async () => {
    world = await begin(async (folder) => {
      for (const system of SYSTEMS)
        await ocorl("run", system, "--episodes", "2", "--out", join(folder, system), "-q", ...QUICK).catch((error) => {
          // A system may leave its limits in its first planned episode; its report must open all the same.
          if (!/did not complete/.test(error.message)) throw error;
        });
    });
});
after(() => world?.end());

for (const system of SYSTEMS) {
  test(`the report of ${system}`, async () => {
    const file = join(world.folder, `${system}.html`);
    await ocorl("report", join(world.folder, system), "--out", file);
    assert.ok((await stat(file)).size > 10_000);
    const page = await look({ ...world, address: pathToFileURL(world.folder).href }, `/${system}.html`, {
      writable: false,
    });
    assert.ok((await page.locator("svg").count()) > 3, "figures");
    const [scroll, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(scroll <= inner, `${scroll} px in a window of ${inner}`);
    assert.deepEqual(page.trouble, []);
    assert.deepEqual(page.outside, []);
    await page.screenshot({ path: join(pictures, `report-${system}.png`), fullPage: system === "pendulum" });
    await page.context().close();
  });
}
