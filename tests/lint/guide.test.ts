import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { repository } from "../stack/processes";

/** A stranger finds things by ARCHITECTURE.md: what it names is there. */

const guide = readFileSync(path.join(repository, "ARCHITECTURE.md"), "utf8");
const convex = path.join(repository, "convex");
const rooms = readdirSync(convex);

/** What is wrong with a place such as `platform/work`, `signals/tracker.ts` or `platform/work.resumeLost`. */
function fault(place: string): string | null {
  const at = path.join(rooms.includes(place.split("/")[0] ?? "") ? convex : repository, place);
  if ([at, `${at}.ts`, `${at}.tsx`].some((one) => existsSync(one))) return null;
  const [, file = "", name = ""] = /^(.*)\.(\w+)$/.exec(at) ?? [];
  if (!existsSync(`${file}.ts`)) return `${place} is not there`;
  return new RegExp(`\\b${name}\\b`).test(readFileSync(`${file}.ts`, "utf8"))
    ? null
    : `${place} has no such name`;
}

test("every place in the guide is there, and has what is said to be in it", () => {
  const places = Array.from(guide.matchAll(/`([a-z]+(?:\/\w+)+(?:\.\w+)?)`/g), ([, place = ""]) => place);
  expect(places.length).toBeGreaterThan(30);
  expect(places.map(fault).filter(Boolean)).toEqual([]);
});
