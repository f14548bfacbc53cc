import { createServer } from "node:http";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { createWorld, type World } from "../../scripts/bench/world";
import { live, START } from "../../scripts/demo/signals";
import { scripts, startScript } from "../stack/processes";

/** The pages of a service with a month of signals behind it, as Chromium shows them. */

const DAYS = 30;
const BOUND = { host: "127.0.0.1", port: 0 };

const seenShape = z.object({
  views: z.array(
    z.object({ path: z.string(), width: z.number(), scheme: z.string(), problems: z.array(z.string()) }),
  ),
});
const latestShape = z.object({ signals: z.object({ BTC: z.object({ id: z.string() }).nullable() }) });

let world: World;
const server = createServer((request, response) => {
  const client = world.t.withRequestMetadata({ ip: "127.0.0.1", userAgent: "a browser" });
  const headers = { Accept: request.headers.accept ?? "*/*" };
  void world.clock.during(client.fetch(request.url ?? "/", { headers })).then(async (answer) => {
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
});

beforeAll(async () => {
  world = await createWorld({
    seed: "pages",
    start: START,
    variables: { CONVEX_SITE_URL: "https://happy-otter-123.convex.site" },
  });
  await live(world, DAYS, process.stderr);
  await world.call("GET", "/mcp/market");
  await world.call("POST", "/mcp/research", { token: "BTC" });
  for (const name of ["whales/agent/watches:begin", "prices/samples:takeDue"])
    await world.crons.find((cron) => cron.name === name)?.tick();
  await world.clock.advance(120_000);
  await new Promise<void>((listens) => server.listen(BOUND, listens));
}, 600_000);
afterAll(() => {
  server.close();
  world.stop();
});

test("every page fits a phone and a desk, dark and light, and axe finds nothing", async ({ task }) => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on a port");
  const { signals } = latestShape.parse(await world.call("GET", "/mcp/signals/latest"));
  const pages = ["/", "/record", "/research", "/research?token=BTC", "/whales", "/status", "/docs"];
  const all = [...pages, `/signals/${signals.BTC?.id ?? ""}`];
  const site = `http://127.0.0.1:${address.port}`;
  const file = path.join(scripts, "..", "screenshots.ts");
  const { code, stdout, stderr } = await startScript(file, [site, ...all, "--json"]).ended;
  expect([code, stderr]).toEqual([0, ""]);
  const { views } = seenShape.parse(JSON.parse(stdout));
  expect(views.filter(({ problems }) => problems.length > 0)).toEqual([]);
  expect(views).toHaveLength(4 * all.length);
  Object.assign(task.meta, { figures: `${views.length} views of ${all.length} pages` });
}, 3_600_000);
