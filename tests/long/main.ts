import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { figure } from "../../scripts/bench/table";
import { command, Misuse } from "../../scripts/command";
import { bold, dim, green, red } from "../../scripts/terminal";

/** `npm run test:long`: what takes too long for every `npm test`, which holds a small sample of each part. */

type Options = { seed: string | undefined; rounds: string | undefined; log: boolean };
type Part = {
  about: string;
  /** How many rounds, and which seed the first has, unless others are asked for; absent for what leaves nothing to chance. */
  rounds?: number;
  seed?: number;
  /** Where the part has no file of its name here. */
  file?: string;
};

const PARTS: Record<string, Part> = {
  scale: { about: "1,000 research shifts at once, 180 one after another" },
  hostile: { about: "9,500 generated requests, most of them wrong", seed: 20_260_105 },
  swaps: { about: "swaps whose quotes lie", rounds: 2_000, seed: 1 },
  reorgs: { about: "dropped blocks, stuck fees, lost answers, lying nonces", rounds: 200, seed: 1 },
  restarts: { about: "the local chain is stopped, cut short, damaged and taken over" },
  kills: { about: "a stack with real money is killed at random moments", rounds: 100, seed: 1 },
  payments: { about: "the service dies at every call of a paid report" },
  edge: {
    about: "signal records without an edge, looked at daily; planted edges",
    ...{ rounds: 10_000, seed: 1 },
  },
  labels: { about: "price paths labelled second by second and from candles", rounds: 10_000, seed: 1 },
  calibration: { about: "forecasters that say 75 % and hit 55 %", rounds: 500, seed: 1 },
  pages: {
    about:
      "Chromium shows every page at 390 and 1400 pixels, dark and light: no overflow, and axe finds nothing",
  },
  attackers: {
    about: "each attacker of docs/security.md against npm start, and two hours in the owner's life",
  },
  wallets: {
    about: "the service dies at every call of a send and of a swap",
    file: "tests/wallets/crashes.node.test.ts",
  },
};

function commandOf(name: string, { rounds, seed, file }: Part, options: Options): Command {
  const asked = { rounds: options.rounds ?? String(rounds), seed: options.seed ?? String(seed) };
  const own = ["", ".node"].map((kind) => `tests/long/${name}${kind}.test.ts`).find((one) => existsSync(one));
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.long.config.ts"];
  return {
    args: [...vitest, "--reporter=verbose", file ?? own ?? name],
    env: {
      ...(rounds === undefined ? {} : { LONG_ROUNDS: asked.rounds }),
      ...(seed === undefined ? {} : { LONG_SEED: asked.seed }),
    },
  };
}

type Command = { args: string[]; env: Record<string, string> };

/** What a part is about, and what may be asked of it. */
function described({ about, rounds, seed }: Part): string {
  const asked = Object.entries({ rounds, seed }).flatMap(([name, usual]) =>
    usual === undefined ? [] : [`--${name} (${usual})`],
  );
  return [about, ...asked].join(", ");
}

const USAGE = `Usage: npm run test:long [-- PART…] [--seed N] [--rounds N] [--log]

Runs all long tests (about half an hour), or only the named parts:

${Object.entries(PARTS)
  .map(([name, part]) => `  ${name.padEnd(12)}${described(part)}`)
  .join("\n")}`;

/** What a part says of itself when it is through: vitest's annotations and totals, the rounds' last line. */
const TELLING = /^\s*(?:↳|Tests\s|.*\bfigures\b|\d+ rounds of \d+ held|round \d+: FAILED)/;

type Outcome = { name: string; passed: boolean; ms: number };

async function run(name: string, part: Part, options: Options): Promise<Outcome> {
  const seed = part.seed === undefined ? "" : `, seed ${options.seed ?? part.seed}`;
  console.log(`\n${bold(`— ${name}`)}: ${part.about}${seed}`);
  const startedAt = performance.now();
  const { args, env } = commandOf(name, part, options);
  const { code, lines } = await through(args, env);
  const ms = performance.now() - startedAt;
  console.log(bold(`\n  ${name}${seed}: ${code === 0 ? "passed" : "FAILED"}, ${figure(ms / 1_000)} s`));
  for (const line of lines.filter((one) => TELLING.test(one))) console.log(dim(`  ${line.trim()}`));
  return { name, passed: code === 0, ms };
}

/** Shows what it writes as it comes, and keeps it. */
function through(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; lines: string[] }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      process.stdout.write(text);
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, lines: stripVTControlCharacters(output).split("\n") }));
  });
}

const flags = {
  seed: { type: "string" },
  rounds: { type: "string" },
  log: { type: "boolean", default: false },
} as const;
await command({ usage: USAGE, flags, most: Infinity }, async ({ values, positionals }) => {
  const unknown = positionals.filter((name) => !(name in PARTS));
  if (unknown.length > 0) throw new Misuse(`There is no part named ${unknown.join(", ")}`);
  const { seed, rounds, log } = values;
  for (const [name, value] of Object.entries({ seed, rounds })) {
    if (value !== undefined && !/^\d{1,9}$/.test(value)) throw new Misuse(`--${name} is a whole number`);
  }
  const outcomes: Outcome[] = [];
  for (const [name, part] of Object.entries(PARTS)) {
    if (positionals.length === 0 || positionals.includes(name))
      outcomes.push(await run(name, part, { seed, rounds, log }));
  }
  console.log(`\n${bold("The long tests")}`);
  for (const { name, passed, ms } of outcomes) {
    console.log(
      `  ${name.padEnd(10)}${`${figure(ms / 1_000)} s`.padStart(8)}  ${passed ? green("passed") : red("FAILED")}`,
    );
  }
  const failed = outcomes.filter(({ passed }) => !passed).length;
  console.log(`\n${outcomes.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
});
