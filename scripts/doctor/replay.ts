/**
 * `npm run replay -- DIR`: runs the service's own parsers over answers that `npm run doctor -- --record DIR` has
 * recorded, and prints the results. It asks nobody and needs no key: an operator's bug report becomes a test.
 */

import { failed, Misuse } from "../misuse";
import type { Finding } from "./finding";
import { asJson, heading, line, verdict, type Section } from "./printing";
import { RecordingError, recordingsIn, replayed } from "./recordings";

const USAGE = `Usage: npm run replay -- DIR [--json]

Reads what npm run doctor -- --record DIR kept, with the service's own parsers. It asks nobody.

  --json   one JSON document instead of lines`;

/** @returns The exit code. */
async function main(args: readonly string[]): Promise<number> {
  const [directory = "", ...rest] = args.filter((one) => one !== "--json");
  if (args.includes("--help")) {
    console.log(USAGE);
    return 0;
  }
  if (directory === "" || directory.startsWith("-") || rest.length > 0) {
    throw new Misuse("Name one directory");
  }
  const findings: Finding[] = [];
  for (const recording of await recordingsIn(directory)) findings.push(await replayed(recording));
  if (findings.length === 0) {
    console.error(`There is no recording in ${directory}.`);
    return 1;
  }
  const sections: Section[] = [["Replayed", findings]];
  const told = args.includes("--json")
    ? asJson(sections)
    : [heading("Replayed"), ...findings.map(line), verdict(sections)].join("\n");
  console.log(told);
  return findings.some(({ level }) => level === "fault") ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  return failed(error, (one) => one instanceof RecordingError);
});
