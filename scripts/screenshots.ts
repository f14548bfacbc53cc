import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { AxeResults } from "axe-core";
import { chromium, type Browser, type Page } from "playwright-core";
import { misuse } from "./misuse";
import { bold, dim, green, red } from "./terminal";

/**
 * `npm run screenshots -- URL`: looks at the pages of a running service as a phone and a desk show them, light and dark:
 * whether anything is wider than its screen, what axe finds, and pictures of all of it.
 */

const USAGE = `Usage: npm run screenshots -- URL [PATH…] [--out DIRECTORY] [--whole]

Opens the pages of the service at URL (or only the PATHs) in Chromium at 390 and 1400 pixels, light and dark. Fails when a
page is wider than its screen or axe finds a violation.

  --out DIRECTORY   where the pictures go; none are taken without it
  --whole           pictures of whole pages, not of the first screen

Environment: CHROMIUM (/usr/bin/chromium), the browser to use`;

const WIDTHS = [390, 1400] as const;
const SCHEMES = ["light", "dark"] as const;
const HEIGHT = 900;
const PATHS = ["/", "/record", "/research", "/research?token=BTC", "/whales", "/status", "/docs"];

class ScreenshotError extends Error {}

type Options = { url: string; paths: string[]; out: string | undefined; whole: boolean };

function optionsOf(argv: string[]): Options | null {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { out: { type: "string" }, whole: { type: "boolean" }, help: { type: "boolean" } },
  });
  const [url, ...paths] = positionals;
  if (values.help === true) return null;
  if (url === undefined || !URL.canParse(url)) throw new ScreenshotError(`Name a service.\n\n${USAGE}`);
  return {
    url,
    paths: paths.length === 0 ? PATHS : paths,
    out: values.out,
    whole: values.whole === true,
  };
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What is wrong with a page, a line each. */
async function problemsOf(page: Page): Promise<string[]> {
  const wider = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate<Pick<AxeResults, "violations">>("axe.run()");
  return [
    ...(wider > 0 ? [`${wider} pixels wider than the screen`] : []),
    ...violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes[0]?.target.join(" ") ?? ""})`),
  ];
}

async function look(browser: Browser, { url, paths, out, whole }: Options): Promise<number> {
  let bad = 0;
  for (const path of paths) {
    for (const width of WIDTHS) {
      for (const colorScheme of SCHEMES) {
        // The page allows no scripts, and axe is one.
        const viewport = { width, height: HEIGHT };
        const page = await browser.newPage({ viewport, colorScheme, bypassCSP: true });
        const answer = await page.goto(new URL(path, url).href, { waitUntil: "load" });
        const status = answer?.status() ?? 0;
        const problems = status === 200 ? await problemsOf(page) : [`answered ${status}`];
        if (problems.length > 0) bad++;
        const mark = problems.length === 0 ? green("✓") : red("✗");
        console.log(`${mark} ${path.padEnd(24)} ${dim(`${width} ${colorScheme}`)}`);
        for (const problem of problems) console.log(`  ${problem}`);
        if (out !== undefined) {
          const file = join(out, `${nameOf(path)}-${width}-${colorScheme}.png`);
          await page.screenshot({ path: file, fullPage: whole });
        }
        await page.close();
      }
    }
  }
  return bad;
}

/** `/research?token=BTC` is `research-token-BTC`, `/` is `home`. */
function nameOf(path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  return words.length === 0 ? "home" : words.join("-");
}

async function main(): Promise<void> {
  const options = optionsOf(process.argv.slice(2));
  if (options === null) return console.log(USAGE);
  if (options.out !== undefined) await mkdir(options.out, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });
  try {
    console.log(bold(`The pages of ${options.url}`));
    const bad = await look(browser, options);
    if (bad > 0) throw new ScreenshotError(`${bad} views are not as they should be`);
  } finally {
    await browser.close();
  }
}

try {
  await main();
} catch (error) {
  console.error(misuse(error) ?? (error instanceof ScreenshotError ? error.message : error));
  process.exitCode = 1;
}
