import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { failed, Misuse } from "../misuse";
import { bold, dim, nextStep } from "../terminal";
import { keepMeasurements } from "./capacity";
import * as conflicts from "./conflicts";
import * as edges from "./edges";
import * as figures from "./figures";
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

Measures the service on this machine: every question but platform and edges, which take minutes, or those named.

  --json   the tables as JSON on stdout (npm run --silent bench -- --json)
  --write  platform's measurements into scripts/bench/measured.json and docs/capacity.md
  --list   the questions

${LIST}`;

type Answer = { name: string; question: string; seconds: number; table: Table };

const { names, json, write } = orderOf();
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

function orderOf(): { names: string[]; json: boolean; write: boolean } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        ...{ json: { type: "boolean" }, write: { type: "boolean" } },
        ...{ list: { type: "boolean" }, help: { type: "boolean" } },
      },
    });
    if (values.help === true || values.list === true) {
      console.log(values.help === true ? USAGE : LIST);
      process.exit(0);
    }
    const all = Object.keys(QUESTIONS);
    const unknown = positionals.filter((name) => !all.includes(name));
    if (unknown.length > 0) throw new Misuse(`There is no question ${unknown.join(", ")}`);
    return {
      names: all.filter((name) =>
        positionals.length === 0 ? !LONG.includes(name) : positionals.includes(name),
      ),
      json: values.json === true,
      write: values.write === true,
    };
  } catch (error) {
    process.exit(failed(error));
  }
}
