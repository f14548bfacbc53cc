import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { scripts, startScript } from "../stack/processes";

/** The pages of a stack with two days behind it, as Chromium shows them. */

const SPEED = 2_000;
const FULL_DAYS = 2;
const DAY = 86_400_000;

const seenShape = z.object({
  views: z.array(
    z.object({ path: z.string(), width: z.number(), scheme: z.string(), problems: z.array(z.string()) }),
  ),
});
const latestShape = z.object({ signals: z.object({ BTC: z.object({ id: z.string() }).nullable() }) });

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ envFile: "/dev/null", ephemeral: true, speed: SPEED, seed: "pages" });
});
afterAll(() => stack.stop());

test("every page fits a phone and a desk, dark and light, and axe finds nothing", async ({ task }) => {
  await fetch(`${stack.siteUrl}/mcp/market`);
  await fetch(`${stack.siteUrl}/mcp/research`, { method: "POST", body: JSON.stringify({ token: "BTC" }) });
  const until = stack.clock.now() + FULL_DAYS * DAY;
  await expect.poll(() => stack.clock.now() >= until, { timeout: 1_800_000, interval: 1_000 }).toBe(true);
  const latest = await fetch(`${stack.siteUrl}/mcp/signals/latest`);
  const { signals } = latestShape.parse(await latest.json());
  const pages = ["/", "/record", "/research", "/research?token=BTC", "/whales", "/status", "/docs"];
  const all = [...pages, `/signals/${signals.BTC?.id ?? ""}`];
  const file = path.join(scripts, "..", "screenshots.ts");
  const { code, stdout, stderr } = await startScript(file, [stack.siteUrl, ...all, "--json"]).ended;
  expect([code, stderr]).toEqual([0, ""]);
  const { views } = seenShape.parse(JSON.parse(stdout));
  expect(views.filter(({ problems }) => problems.length > 0)).toEqual([]);
  expect(views).toHaveLength(4 * all.length);
  Object.assign(task.meta, { figures: `${views.length} views of ${all.length} pages` });
}, 3_600_000);
