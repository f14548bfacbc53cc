import { availableParallelism } from "node:os";
import { command, Misuse } from "../command";
import { bold, dim, nextStep } from "../terminal";
import { keepMeasurements } from "./capacity";
import * as conflicts from "./conflicts";
import * as edges from "./signals/edges";
import * as figures from "./figures/figures";
import * as platform from "./platform";
import { createProgress } from "./progress";
import { rendered, type Bench, type Table } from "./table";

/** `npm run bench`: measures the service on the local host, question by question. */

/** In the order they are asked. */
const QUESTIONS: Record<string, Bench> = {
  figures,
  conflicts,
  platform,
  edges,
};
/** These take minutes, and only run by name. */
const LONG = ["platform", "edges"];

const LIST = Object.entries(QUESTIONS)
  .map(([name, { question }]) => `  ${name.padEnd(14)} ${question}`)
  .join("\n");

const USAGE = `Usage: npm run bench [-- QUESTION…] [--json] [--write]

Measures the service on this machine. Without a name, it answers every question except platform and edges, which take
minutes.

  --json   prints the tables as JSON on stdout (npm run --silent bench -- --json)
  --write  writes the measurements of platform into scripts/bench/measured.json and docs/capacity.md
  --list   lists the questions

${LIST}`;

type Answer = { name: string; question: string; seconds: number; table: Table };

const FLAGS = {
  json: { type: "boolean", default: false },
  write: { type: "boolean", default: false },
  list: { type: "boolean", default: false },
} as const;

await command({ usage: USAGE, flags: FLAGS, most: Infinity }, async ({ values, positionals }) => {
  const { json, write } = values;
  if (values.list) return console.log(LIST);
  const all = Object.keys(QUESTIONS);
  const unknown = positionals.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Misuse(`There is no question ${unknown.join(", ")}`);
  const names = positionals.length === 0 ? all.filter((name) => !LONG.includes(name)) : positionals;
  const progress = createProgress();
  const answers: Answer[] = [];
  if (!json) console.log(bold(`Node ${process.version}, ${availableParallelism()} cores`));
  for (const [index, name] of names.entries()) {
    const bench = QUESTIONS[name];
    if (bench === undefined) throw new Error(`There is no question ${name}`);
    const place = `${index + 1} of ${names.length}, ${name}`;
    progress.show(place);
    const startedAt = performance.now();
    const table = await bench.run((what) => progress.show(`${place}: ${what}`));
    const seconds = (performance.now() - startedAt) / 1_000;
    progress.clear();
    if (write && table.measured !== undefined) keepMeasurements(table.measured);
    answers.push({ name, question: bench.question, seconds, table });
    if (json) continue;
    console.log(`\n${rendered(bench.question, table)}`);
    console.log(dim(`\n  npm run bench -- ${name}, ${seconds.toFixed(0)} s`));
  }
  console.log(
    json
      ? JSON.stringify(answers, null, 2)
      : nextStep("npm run bench -- platform shows what the platform bills"),
  );
});
