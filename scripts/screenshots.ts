import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { command, Misuse, OperatorError } from "./command";
import { bold, dim, green, nextStep, red } from "./terminal";

/**
 * `npx tsx scripts/screenshots.ts URL`: views the pages of a running service in the sizes of a phone and a desktop,
 * light and dark; reports content wider than its screen, failures of its script and axe's findings, and writes screenshots.
 */

const USAGE = `Usage: npx tsx scripts/screenshots.ts URL [PATH…] [--out DIRECTORY] [--whole]

Opens the pages of the service at URL (or only the PATHs) in Chromium at widths of 390 and 1400 pixels, light and dark.
Fails if a page is wider than its screen, has more than 50 kB or asks for more, if its script fails, or if axe finds a
violation.

  --out DIRECTORY   where the pictures are saved; without it, none are taken
  --whole           takes pictures of whole pages, not only of the first screen

Environment: CHROMIUM (/usr/bin/chromium), the browser to use`;

const WIDTHS = [390, 1400] as const;
const SCHEMES = ["light", "dark"] as const;
const HEIGHT = 900;
const PATHS = [
  "/",
  "/start",
  "/record",
  "/research",
  "/research?token=BTC",
  "/coins/BTC",
  "/coins/SOL",
  "/whales",
  "/status",
  "/nowhere",
  "/docs",
];

/** The error page is one of the pages. */
const getExpectedStatus = (path: string): number => (path === "/nowhere" ? 404 : 200);

/** The largest page as a browser receives it; no page loads anything else. The service compresses only the reference. */
const MOST_BYTES = 50_000;

type Options = { url: string; paths: string[]; out: string | undefined; whole: boolean };

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** The problems of a page, one per line. */
async function listProblems(page: Page): Promise<string[]> {
  const wider = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  await page.evaluate(await readFile(axe, "utf8"));
  const { violations } = await page.evaluate<Pick<AxeResults, "violations">>("axe.run()");
  return [
    ...(wider > 0 ? [`${wider} pixels wider than the screen`] : []),
    ...violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes[0]?.target.join(" ") ?? ""})`),
  ];
}

/** @returns The number of views, and of those with problems. */
async function takeViews(browser: Browser, { url, paths, out, whole }: Options) {
  const views = { all: 0, bad: 0 };
  for (const path of paths) {
    for (const width of WIDTHS) {
      for (const colorScheme of SCHEMES) {
        // The page allows no scripts, and axe is one.
        const viewport = { width, height: HEIGHT };
        const page = await browser.newPage({ viewport, colorScheme, bypassCSP: true });
        const seen: string[] = [];
        page.on("pageerror", ({ message }) => seen.push(`its script failed: ${message}`));
        page.on("request", (asked) => {
          if (!asked.isNavigationRequest()) seen.push(`asked for ${asked.url()}`);
        });
        const answer = await page.goto(new URL(path, url).href, { waitUntil: "load" });
        const status = answer?.status() ?? 0;
        const problems =
          status === getExpectedStatus(path) ? await listProblems(page) : [`answered ${status}`];
        problems.push(...seen);
        const bytes = (await answer?.request().sizes())?.responseBodySize ?? 0;
        if (bytes > MOST_BYTES) problems.push(`has ${bytes} bytes, more than ${MOST_BYTES}`);
        const name = `${getViewName(path)}-${width}-${colorScheme}.png`;
        if (out !== undefined) await page.screenshot({ path: join(out, name), fullPage: whole });
        await page.close();
        views.all += 1;
        views.bad += problems.length === 0 ? 0 : 1;
        const mark = problems.length === 0 ? green("✓") : red("✗");
        const line = `${mark} ${path.padEnd(24)} ${dim(`${width} ${colorScheme}`)}`;
        console.log([line, ...problems.map((problem) => `  ${problem}`)].join("\n"));
      }
    }
  }
  return views;
}

/** `/research?token=BTC` is `research-token-BTC`, `/` is `home`. */
function getViewName(path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  return words.length === 0 ? "home" : words.join("-");
}

async function main(options: Options): Promise<void> {
  if (options.out !== undefined) await mkdir(options.out, { recursive: true });
  // It takes ten times as long to load as everything else here, and `--help` does not need it.
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });
  try {
    const { url, out } = options;
    console.log(bold(`The pages of ${url}`));
    const { all, bad } = await takeViews(browser, options);
    if (out !== undefined) console.log(nextStep(`look at the pictures in ${out}`));
    if (bad > 0) throw new OperatorError(`${bad} of ${all} views are not as they should be`);
  } finally {
    await browser.close();
  }
}

const about = {
  usage: USAGE,
  flags: {
    out: { type: "string" },
    whole: { type: "boolean", default: false },
  },
  most: Infinity,
} as const;
await command(about, ({ values: { out, whole }, positionals: [url, ...paths] }) => {
  if (url === undefined || !URL.canParse(url)) throw new Misuse("Name a service by its URL");
  return main({ url, paths: paths.length === 0 ? PATHS : paths, out, whole });
});
