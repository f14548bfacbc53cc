import { createServer } from "node:http";
import path from "node:path";
import { chromium, type Page } from "playwright-core";
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
  const { accept = "*/*", "accept-encoding": encoding = "" } = request.headers;
  const headers = { Accept: accept, "Accept-Encoding": encoding };
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
  for (const name of ["whales/agent/watches:begin", "market/samples:takeDue"]) await world.run(name);
  await world.clock.advance(120_000);
  await new Promise<void>((listens) => server.listen(BOUND, listens));
}, 600_000);
afterAll(() => {
  server.close();
  world.stop();
});

/** Where the service answers, and the addresses of its pages. */
async function pagesOf(): Promise<{ site: string; paths: string[] }> {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on a port");
  const { signals } = latestShape.parse(await world.call("GET", "/mcp/signals/latest"));
  const pages = [
    "/",
    "/record",
    "/research",
    "/research?token=BTC",
    "/whales",
    "/status",
    "/board",
    "/nowhere",
    "/docs",
    "/docs?q=alert",
    // The largest: 170 kB of text, and 21 kB as a browser is sent it.
    "/docs/signals",
  ];
  const paths = [...pages, `/signals/${signals.BTC?.id ?? ""}`];
  return { site: `http://127.0.0.1:${address.port}`, paths };
}

test("every page fits a phone and a desk, dark and light, and axe finds nothing", async ({ task }) => {
  const { site, paths: all } = await pagesOf();
  const file = path.join(scripts, "..", "screenshots.ts");
  const { code, stdout, stderr } = await startScript(file, [site, ...all, "--json"]).ended;
  const { views } = seenShape.parse(JSON.parse(stdout));
  expect(views.filter(({ problems }) => problems.length > 0)).toEqual([]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(views).toHaveLength(4 * all.length);
  Object.assign(task.meta, { figures: `${views.length} views of ${all.length} pages` });
}, 3_600_000);

/** What a keyboard stops at, in the order of the document, and whether one sees where it is. */
type Stop = { place: number; name: string; outlined: boolean };

/** Presses Tab until the focus leaves the page. */
async function stopsOf(page: Page): Promise<Stop[]> {
  const stops: Stop[] = [];
  for (let presses = 0; presses < 400; presses++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate((): Stop | null => {
      const focused = document.activeElement;
      if (focused === null || focused === document.body) return null;
      const { outlineStyle, outlineWidth } = getComputedStyle(focused);
      return {
        place: [...document.querySelectorAll("*")].indexOf(focused),
        name: (focused.getAttribute("aria-label") ?? focused.textContent ?? "").trim().slice(0, 40),
        outlined: outlineStyle !== "none" && outlineWidth !== "0px" && focused.matches(":focus-visible"),
      };
    });
    if (stop === null) return stops;
    stops.push(stop);
  }
  throw new Error(`The focus never leaves ${page.url()}`);
}

/** What can be used with a keyboard and is shown. */
async function usable(page: Page): Promise<number[]> {
  return page.evaluate(() => {
    const all = [...document.querySelectorAll("*")];
    return [...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
      .filter((one) => one.checkVisibility())
      .map((one) => all.indexOf(one));
  });
}

test("a keyboard reaches all of every page in the order of its text, and shows where it is", async ({
  task,
}) => {
  const { site, paths } = await pagesOf();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });
  let count = 0;
  try {
    for (const width of [390, 1400]) {
      for (const path of paths) {
        const page = await browser.newPage({ viewport: { width, height: 900 } });
        await page.goto(`${site}${path}`, { waitUntil: "load" });
        const [stops, shown] = [await stopsOf(page), await usable(page)];
        expect([path, stops.map(({ place }) => place)]).toEqual([path, shown]);
        expect([path, stops[0]?.name]).toEqual([path, expect.stringMatching(/^Skip to /)]);
        expect([path, stops.filter(({ outlined }) => !outlined)]).toEqual([path, []]);
        count += stops.length;
        await page.close();
      }
    }
    const page = await browser.newPage();
    await page.goto(`${site}/research`, { waitUntil: "load" });
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.closest("main")?.id)).toBe("content");
  } finally {
    await browser.close();
  }
  Object.assign(task.meta, { figures: `${count} stops of ${2 * paths.length} views` });
}, 3_600_000);
