import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";
import { expect, test } from "vitest";
import { HEIGHT, WIDTH } from "../../convex/pictures/card";
import { drawAlert } from "../../convex/pictures/messageCards";
import { renderPng } from "../../convex/pictures/drawings";
import { embeddedModules } from "../../scripts/pictures/embed";
import { PICTURES } from "./examples";

/** `UPDATE_GOLDEN=1` writes the pictures anew; look at them before they are kept. */
const isWritten = process.env.UPDATE_GOLDEN === "1";
/** Renderers of other versions smooth edges otherwise; a word or a line elsewhere is thousands of pixels. */
const DIFFERENT_PIXELS = 500;

test.each(Object.entries(PICTURES))("the picture %s is the one that was looked at", async (name, svg) => {
  const drawn = await renderPng(svg);
  const file = fileURLToPath(new URL(`golden/${name}.png`, import.meta.url));
  if (isWritten) await writeFile(file, drawn);
  const [{ data, width, height }, golden] = [
    PNG.sync.read(Buffer.from(drawn)),
    PNG.sync.read(await readFile(file)),
  ];
  expect([width, height, golden.width, golden.height]).toEqual([WIDTH, HEIGHT, WIDTH, HEIGHT]);
  expect(pixelmatch(data, golden.data, undefined, width, height, { threshold: 0.1 })).toBeLessThan(
    DIFFERENT_PIXELS,
  );
});

test("renderer and font are those of the package and of the repository", async () => {
  for (const [file, source] of Object.entries(await embeddedModules())) {
    const kept = await readFile(new URL(`../../${file}`, import.meta.url), "utf8");
    expect([file, kept === source]).toEqual([file, true]);
  }
});

test("an alert's picture says in its title what it waits for, in dollars where it is worth some", () => {
  for (const [condition, title] of [
    [{ kind: "flow", token: "CBBTC", direction: "out", overUsd: 1e7 }, "Outflow of CBBTC over $10,000,000"],
    [
      { kind: "funding", token: "ETH", direction: "above", percentPerHour: 0.01 },
      "ETH funding above 0.08\u202F% per 8 h",
    ],
  ] as const) {
    const svg = drawAlert({ condition, now: 0, path: [], fired: [], level: 1 }, "some.convex.site");
    expect(/<text class="title"[^>]*>([^<]*)</.exec(svg)?.[1]).toBe(title);
  }
});
