import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { dirname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/** The house's rules: no import runs upward, and none in a circle. */

const directory = fileURLToPath(new URL("../convex", import.meta.url));

type Module = { path: string; room: string; source: string; imports: string[] };

/** From below: a room knows those of lower floors, and none beside it. ARCHITECTURE.md draws the same. */
const FLOORS = [
  ["lib"],
  ["figures"],
  ["platform"],
  ["providers"],
  ["market", "identity"],
  ["messenger"],
  ["wallets", "credits", "runs"],
  ["whales"],
  ["research", "signals", "social"],
  ["alerts", "chat", "payments"],
  ["accounts", "pictures"],
  ["bot", "ops"],
  ["tools", "pages", "compat"],
];
const ROOT_LISTS = ["http", "endpoints", "crons", "schema", "convex.config"];
/** What is done to all tables alike goes by the records of all rooms, which are united where their tables are. */
const LISTS_KNOWN_TO: Readonly<Record<string, readonly string[]>> = {
  "accounts/data": ["schema"],
  "ops/housekeeping": ["schema"],
  "ops/sealedSecrets": ["schema"],
};
/**
 * The platform makes every call's modules anew, the local host keeps them: what a call leaves in one may serve that call, or
 * save it the same work again. Nothing else is kept in a module.
 */
const KEPT_IN_MODULES: Readonly<Record<string, string>> = {
  "platform/outside/calls": "what an action's providers cost, until its next mutation stores it",
};
/** Calls of a room that knows the caller's: what is below has something to tell that nobody above has asked for. */
const UPWARD: Readonly<Record<string, string | readonly string[]>> = {
  // What a chat had is its user's once it is linked.
  "messenger/linking": "alerts",
  // A card names the function that will draw its picture: nothing of it is loaded, and the outbox calls it.
  "alerts/watch": "pictures",
  "signals/cards": "pictures",
};

const modules: Module[] = await Promise.all(
  (await readdir(directory, { recursive: true }))
    .filter((file) => /\.tsx?$/.test(file) && !file.startsWith("_generated"))
    .map(async (file) => moduleOf(file, await readFile(path.join(directory, file), "utf8"))),
);

function moduleOf(file: string, source: string): Module {
  const name = file.replaceAll(path.sep, "/").replace(/\.tsx?$/, "");
  return { path: name, source, room: name.split("/")[0] ?? "", imports: importsOf(name, source) };
}

/** Imports that exist at run time or as types alike: the rule is about who knows whom. */
function importsOf(path: string, source: string): string[] {
  const found = source.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  const targets = Array.from(found, ([, target = ""]) => join(dirname(path), target));
  return targets.filter((target) => !target.startsWith("_generated/"));
}

/** What is there at run time: a type loads nothing and asks nobody. */
function withoutTypes(source: string): string {
  return source.replace(/import type [^;]*;|import \{(?:\s*type [^,}]+,?)+\s*\} from [^;]*;/g, "");
}

/** Modules that are evaluated with this one, not those that a function of it loads when it is called. */
function loadedWith(path: string, source: string): string[] {
  return importsOf(path, withoutTypes(source).replace(/\bimport\("[^"]+"\)/g, ""));
}

/** All that can be come to from there. */
function reach(from: string, next: (one: string) => Iterable<string>, seen = new Set<string>()) {
  for (const one of next(from)) if (!seen.has(one)) reach(one, next, seen.add(one));
  return seen;
}

const sourceOf = (path: string): string => modules.find((one) => one.path === path)?.source ?? "";

/** Whether a module has something of its own that its functions can change. */
function keepsState({ source }: Module): boolean {
  return (
    /^(?:export )?(?:let|var) /m.test(source) ||
    /^(?:export )?const \w+[^=\n]* = (?:new (?:Map|Set|WeakMap|WeakSet)\b.*\(\)|\[\]|\{\});$/m.test(source)
  );
}

/** What a module knows that does not stand below it. */
function upward({ path, room, imports, source }: Module): string[] {
  // The lists at the top, and the room of none.
  if (!path.includes("/")) return [];
  const floorOf = (one: string) => FLOORS.findIndex((rooms) => rooms.includes(one));
  // An example in a comment calls nobody.
  const code = source.replaceAll(/\/\*\*[^]*?\*\//g, "");
  const called = Array.from(code.matchAll(/\binternal\s*\.(\w+)\./g), ([, other = ""]) => other);
  const others = new Set([...imports.map((target) => target.split("/")[0] ?? ""), ...called]);
  const allowed = [room, ...ROOT_LISTS, ...[UPWARD[path] ?? []].flat()];
  return [...others]
    .filter((other) => !allowed.includes(other))
    .filter((other) => floorOf(room) === -1 || floorOf(other) === -1 || floorOf(other) >= floorOf(room))
    .map((other) => `${path} → ${other}`);
}

/** Whether a file registers functions of both kinds. Every call evaluates all that its file imports. */
function registersBoth({ source }: Module): boolean {
  const registered = Array.from(source.matchAll(/^export const \w+ = (\w+)[<(]/gm), ([, by = ""]) => by);
  const transactions = /^(?:internalQuery|internalMutation|query|mutation|defineMutation|defineCron)$/;
  const actions = /^(?:internalAction|action|defineProviderAction|httpAction|defineWorker|defineRefresh)$/;
  return registered.some((by) => transactions.test(by)) && registered.some((by) => actions.test(by));
}

/** Who comes back to itself by those it knows. */
function inCircles(knows: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return [...knows.keys()].filter((one) => reach(one, (of) => knows.get(of) ?? []).has(one));
}

describe("the house", () => {
  test("nothing imports the lists at the top, and nothing reaches out of convex/", () => {
    const known = new Set(modules.map(({ path }) => path));
    expect(known.size).toBeGreaterThan(20);
    for (const { path, imports } of modules) {
      expect([path, imports.filter((target) => !known.has(target))]).toEqual([path, []]);
      const lists = imports.filter((target) => ROOT_LISTS.includes(target));
      expect([path, lists]).toEqual([path, LISTS_KNOWN_TO[path] ?? []]);
    }
  });

  test("rooms know those of lower floors only, by imports and by the functions that they call", () => {
    expect(modules.flatMap(upward)).toEqual([]);
    for (const planted of [
      'import type { Snapshot } from "../market/snapshot";',
      "internal.market.samples.newest",
    ])
      expect(upward(moduleOf("lib/planted.ts", planted))).toHaveLength(1);
  });

  test("ARCHITECTURE.md draws these floors, and no other", async () => {
    const page = await readFile(path.join(directory, "../ARCHITECTURE.md"), "utf8");
    const drawn = Array.from(page.matchAll(/^ ?\d+ {2}([a-z]+(?: {2}[a-z]+)*) {3,}/gm), ([, rooms = ""]) =>
      rooms.split(/ +/),
    );
    expect(drawn.reverse()).toEqual(FLOORS);
  });

  test("no file comes back to itself, by types neither", () => {
    const knows = (all: readonly Module[]) =>
      new Map(all.map(({ path, imports }) => [path, new Set(imports)]));
    expect(inCircles(knows(modules))).toEqual([]);
    const planted = moduleOf("lib/time.ts", 'import type { Log } from "./log";');
    const back = moduleOf("lib/log.ts", 'import { SECOND } from "./time";');
    expect(inCircles(knows([planted, back]))).toEqual(["lib/time", "lib/log"]);
  });

  test("the folders of a room, and the files beside them, know one another in one direction only", () => {
    const folderOf = (path: string) => path.split("/").slice(0, -1).join("/");
    const parents = new Set(modules.map(({ path }) => folderOf(folderOf(path))));
    /** Files beside folders stand for themselves. */
    const placeOf = (path: string) => (parents.has(folderOf(path)) ? path : folderOf(path));
    const knows = new Map<string, Set<string>>();
    for (const { path, room, imports } of modules) {
      const place = placeOf(path);
      const others = imports
        .filter((other) => other.startsWith(`${room}/`))
        .map(placeOf)
        .filter((other) => other !== place);
      knows.set(place, new Set([...(knows.get(place) ?? []), ...others]));
    }
    expect([...knows.keys()]).toContain("wallets/orders");
    expect(inCircles(knows)).toEqual([]);
  });

  test("a file registers transactions or actions, never both", () => {
    expect(modules.filter(registersBoth).map(({ path }) => path)).toEqual([]);
    const planted = "export const a = internalQuery({});\nexport const b = defineProviderAction({});\n";
    expect(registersBoth(moduleOf("market/planted.ts", planted))).toBe(true);
  });

  test("a module keeps nothing from one call to the next but what the next can do without", () => {
    const keeping = modules.filter(keepsState).map(({ path }) => path);
    expect(keeping.sort()).toEqual(Object.keys(KEPT_IN_MODULES));
    for (const planted of [
      "let last: number | null = null;",
      "export const seen = new Map<string, Set<string>>();",
      "const waiting: string[] = [];",
    ])
      expect([planted, keepsState(moduleOf("market/planted.ts", planted))]).toEqual([planted, true]);
  });

  test("the comment above each table names every file that writes it, or the folder of that file", () => {
    const written = (all: readonly Module[]) =>
      all.flatMap(({ path, source }) =>
        Array.from(
          source.matchAll(/\bdb\s*\.(?:insert|patch|replace|delete)\(\s*"(\w+)"/g),
          ([, table = ""]) => ({ path, table }),
        ),
      );
    const comments = new Map(
      modules.flatMap(({ source }) =>
        Array.from(
          source.matchAll(/\/\*\*((?:(?!\/\*\*)[^])*?)\*\/\s+(\w+): defineTable\(/g),
          ([, text = "", table = ""]) => [table, text] as const,
        ),
      ),
    );
    /** `wallets/orders` names what is in it; a room alone names nothing. */
    const isNamed = (path: string, table: string) => {
      const parts = path.split("/");
      const places = parts.map((_, index) => parts.slice(0, index + 1).join("/")).slice(1);
      return places.some((place) => new RegExp(`\`${place}(?:\\.ts)?\``).test(comments.get(table) ?? ""));
    };
    const unnamed = (all: readonly Module[]) =>
      written(all)
        .filter(({ path, table }) => !path.endsWith("tables") && !isNamed(path, table))
        .map(({ path, table }) => `${table} ← ${path}`);
    expect(comments.size).toBeGreaterThan(40);
    expect(unnamed(modules)).toEqual([]);
    expect(unnamed([moduleOf("market/planted.ts", 'ctx.db.patch("messages", id, {})')])).toHaveLength(1);
  });

  test("only providers/ calls the network, and only wallets/custody sees a key", () => {
    const key = /viem\/accounts|walletKeys|getKeySeal|getRequired\("(?:X402_RELAYER|ANCHOR)_PRIVATE_KEY"/;
    for (const { path, room, source } of modules) {
      // The pages' script runs in browsers, and asks for its own page.
      if (room !== "providers" && path !== "pages/assets")
        expect([path, /\bfetch\(/.test(source)]).toEqual([path, false]);
      // The start shows the program of somebody who pays with a key of their own.
      if (path.startsWith("wallets/custody/") || path === "pages/start") continue;
      expect([path, key.test(source)]).toEqual([path, false]);
    }
  });

  test("only the signer has anything signed for a user's wallet", () => {
    const signs = modules.filter(({ imports, source }) => {
      const fromCustody = imports.includes("wallets/custody/signatures");
      return fromCustody && /import \{[^}]*\bsign(?:Transaction|TypedData)\b/.test(source);
    });
    expect(signs.map(({ path }) => path)).toEqual(["wallets/orders/signer"]);
  });

  test("a route's module stays light: no model client, no prompt, nothing of the chain's before a handler asks", () => {
    const evaluated = [...reach("endpoints", (path) => loadedWith(path, sourceOf(path)))];
    expect(evaluated.filter((path) => path.startsWith("providers/"))).toEqual([]);
    const chain = /^import (?!type ).* from "(?:viem|openai)/m;
    expect(evaluated.filter((path) => chain.test(sourceOf(path)))).toEqual([]);
  });

  test("every action that asks a provider counts its calls, and so does every endpoint", () => {
    const isCounting = (path: string) => /\bwithUsage\(/.test(sourceOf(path));
    /** Whether a module comes to a provider by other ways than through one that counts. */
    const asks = (start: string) =>
      [
        ...reach(start, (path) =>
          path !== start && isCounting(path) ? [] : importsOf(path, withoutTypes(sourceOf(path))),
        ),
      ].some((target) => target.startsWith("providers/"));
    const asking = modules.filter(({ room, path }) => room !== "providers" && asks(path));
    const uncounted = asking.filter(({ source }) =>
      /\b(?:internalAction|action|httpAction)\((?!\{[^;]*\bhandler: withUsage\()/.test(source),
    );
    expect(uncounted.map(({ path }) => path)).toEqual([]);
    expect(sourceOf("platform/http/endpoint")).toContain("handle: withUsage(");
    expect(
      asking.filter(({ source }) =>
        /\b(?:defineProviderAction|defineWorker|defineRefresh|withUsage)\(/.test(source),
      ).length,
    ).toBeGreaterThan(10);
  });

  test("every exchange with a provider is counted", () => {
    const outlets = modules
      .filter(({ room, source }) => room === "providers" && /\bfetch\(/.test(source))
      .map(({ path, source }) => [path, source.match(/\bfetch\(/g)?.length]);
    // Through `askProvider`; the chain's client and the gateway note what they do. Users' own webhooks are nobody's outage.
    expect(Object.fromEntries(outlets)).toEqual({
      "providers/call": 1,
      "providers/chain/rpc": 1,
      "providers/webhooks": 1,
    });
    // The doctor asks this deployment itself.
    const uncounted = modules.filter(
      ({ path, source }) => path !== "providers/call" && /\bexchange\(/.test(source),
    );
    expect(uncounted.map(({ path }) => path).sort()).toEqual(["ops/doctor", "providers/models/client"]);
    for (const path of ["providers/chain/rpc", "providers/models/gateway"])
      expect(sourceOf(path)).toContain("noteCall(");
  });
});

describe("the tests", () => {
  const tests = fileURLToPath(new URL(".", import.meta.url));
  /** As `testTimeout` in vitest.config.ts. */
  const LEAST_LIMIT_MS = 600_000;
  /** A test or a hook that ends with its limit, such an option, and the waits that have a limit of their own. */
  const LIMITS = /^ *\}, ([1-9][\d_]{5,})\);$|\btimeout: ([\d_]+)|\bwaitFor\(|\.poll\(/gm;

  const textsOf = async () => {
    const files = (await readdir(tests, { recursive: true })).filter(
      (file) => file.endsWith(".ts") && !file.includes("node_modules"),
    );
    return Promise.all(
      files.map(async (file) => ({ file, text: await readFile(path.join(tests, file), "utf8") })),
    );
  };

  test("set no limit of their own that a busy machine could miss", async () => {
    const limits = (await textsOf()).flatMap(({ file, text }) =>
      Array.from(text.matchAll(LIMITS), ([found, last = "", option = ""]) => ({
        place: `${file}: ${found.trim()}`,
        ms: Number((last + option).replaceAll("_", "")),
      })),
    );
    expect(limits.filter(({ ms }) => ms < LEAST_LIMIT_MS)).toEqual([]);
  });

  test("change a shared test for one file by extending it: at a file's top level an override is for all that follow", async () => {
    const overriding = (await textsOf()).filter(({ text }) => /^\w+\.override\(/m.test(text));
    expect(overriding.map(({ file }) => file)).toEqual([]);
  });
});
