import { describe, expect, test } from "vitest";

/** The house's rules: no import runs upward, and none in a circle. */

const sources = import.meta.glob<string>("../convex/**/*.ts", {
  query: "?raw",
  import: "default",
  eager: true,
});

type Module = { path: string; room: string; source: string; imports: string[] };

const DOMAINS_KNOWN_TO: Record<string, readonly string[]> = {
  lib: [],
  providers: ["lib"],
};
const ROOT_LISTS = ["http", "crons", "schema", "convex.config"];

const modules: Module[] = Object.entries(sources)
  .map(([file, source]) => ({ path: file.replace("../convex/", "").replace(/\.ts$/, ""), source }))
  .filter(({ path }) => !path.startsWith("_generated/"))
  .map(({ path, source }) => ({
    path,
    source,
    room: path.split("/")[0] ?? "",
    imports: importsOf(path, source),
  }));

/** Imports that exist at run time or as types alike: the rule is about who knows whom. */
function importsOf(path: string, source: string): string[] {
  const found = source.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return Array.from(found, ([, target = ""]) => resolve(path, target)).filter(
    (target) => !target.startsWith("_generated/"),
  );
}

/** What is there at run time: a type loads nothing and asks nobody. */
function withoutTypes(source: string): string {
  return source.replace(/import type [^;]*;|import \{(?:\s*type [^,}]+,?)+\s*\} from [^;]*;/g, "");
}

/** Modules that are evaluated with this one, not those that a function of it loads when it is called. */
function loadedWith(path: string, source: string): string[] {
  return importsOf(path, withoutTypes(source).replace(/\bimport\("[^"]+"\)/g, ""));
}

function resolve(from: string, target: string): string {
  const parts = from.split("/").slice(0, -1);
  for (const part of target.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

describe("the house", () => {
  test("has modules to look at", () => expect(modules.length).toBeGreaterThan(20));

  test("lib knows no domain and no provider, providers know lib alone", () => {
    for (const [room, allowed] of Object.entries(DOMAINS_KNOWN_TO)) {
      for (const { path, imports } of modules.filter((one) => one.room === room)) {
        const strangers = imports.filter(
          (target) => ![room, ...allowed].includes(target.split("/")[0] ?? ""),
        );
        expect([path, strangers]).toEqual([path, []]);
      }
    }
  });

  test("nothing imports the lists at the top, and nothing reaches out of convex/", () => {
    const known = new Set(modules.map(({ path }) => path));
    for (const { path, imports } of modules) {
      expect([path, imports.filter((target) => !known.has(target))]).toEqual([path, []]);
      expect([path, imports.filter((target) => ROOT_LISTS.includes(target))]).toEqual([path, []]);
    }
  });

  test("rooms know one another in one direction only", () => {
    const knows = new Map<string, Set<string>>();
    for (const { room, imports } of modules) {
      const rooms = knows.get(room) ?? new Set();
      for (const target of imports) {
        const other = target.split("/")[0] ?? "";
        if (other !== room) rooms.add(other);
      }
      knows.set(room, rooms);
    }
    const reach = (from: string, seen: Set<string>): Set<string> => {
      for (const next of knows.get(from) ?? []) {
        if (!seen.has(next)) reach(next, seen.add(next));
      }
      return seen;
    };
    for (const room of knows.keys()) expect([room, reach(room, new Set()).has(room)]).toEqual([room, false]);
  });

  test("only providers/ calls the network", () => {
    for (const { path, room, source } of modules) {
      if (room !== "providers") expect([path, /\bfetch\(/.test(source)]).toEqual([path, false]);
    }
  });

  test("only wallets/custody sees a key", () => {
    for (const { path, source } of modules) {
      if (path.startsWith("wallets/custody/")) continue;
      // That its rows are never deleted has to be said by the table's name.
      const told = path === "ops/retention" ? source.replace("walletKeys: kept(", "") : source;
      expect([
        path,
        /viem\/accounts|walletKeys|keySeal|required\("(?:X402_RELAYER|ANCHOR)_PRIVATE_KEY"/.test(told),
      ]).toEqual([path, false]);
    }
  });

  test("a route's module stays light: no model client, no prompt, nothing of the chain's before a handler asks", () => {
    const byPath = new Map(modules.map((one) => [one.path, one]));
    const reach = (path: string, seen: Set<string>): Set<string> => {
      const { source = "" } = byPath.get(path) ?? {};
      for (const target of loadedWith(path, source)) if (!seen.has(target)) reach(target, seen.add(target));
      return seen;
    };
    const evaluated = [...reach("http", new Set())];
    expect(evaluated.filter((path) => path.startsWith("providers/"))).toEqual([]);
    const chain = /^import (?!type ).* from "(?:viem|openai)/m;
    expect(evaluated.filter((path) => chain.test(byPath.get(path)?.source ?? ""))).toEqual([]);
  });

  test("every action and every endpoint that asks a provider counts its calls", () => {
    const byPath = new Map(modules.map((one) => [one.path, one]));
    /** Whether a module comes to a provider by other ways than through one that counts. */
    const reach = (path: string, seen: Set<string>): Set<string> => {
      for (const target of importsOf(path, withoutTypes(byPath.get(path)?.source ?? ""))) {
        if (seen.has(target)) continue;
        seen.add(target);
        if (!/\bcounted\(/.test(byPath.get(target)?.source ?? "")) reach(target, seen);
      }
      return seen;
    };
    const asking = modules
      .filter(({ room }) => room !== "providers")
      .filter(({ path }) => [...reach(path, new Set())].some((target) => target.startsWith("providers/")));
    const uncounted = asking.filter(({ source }) =>
      /\b(?:internalAction|action|httpAction|endpoint)\(/.test(source),
    );
    expect(uncounted.map(({ path }) => path)).toEqual([]);
    expect(
      asking.filter(({ source }) => /\b(?:providerAction|counted)\(/.test(source)).length,
    ).toBeGreaterThan(15);
  });

  test("every exchange with a provider is counted", () => {
    const calls = /\b(?:fetch|exchange)\(/g;
    const outlets = modules
      .filter(({ room }) => room === "providers")
      .map(({ path, source }) => [path, source.match(calls)?.length ?? 0] as const)
      .filter(([, count]) => count > 0);
    // The definition and its one use by `askProvider`; the two clients that fetch on their own note what they do. Users'
    // own webhooks are nobody's outage.
    expect(Object.fromEntries(outlets)).toEqual({
      "providers/call": 3,
      "providers/chain": 1,
      "providers/llm": 1,
      "providers/webhooks": 1,
    });
    for (const path of ["providers/chain", "providers/llm"]) {
      expect(modules.find((one) => one.path === path)?.source).toContain("noteCall(");
    }
  });
});
