/**
 * `npm run replay -- DIR`: runs the service's own parsers over answers that `npm run doctor -- --record DIR` has
 * recorded, and prints the results. It asks nobody and needs no key: an operator's bug report becomes a test.
 */

import { command, Misuse } from "../command";
import type { Finding } from "./finding";
import { asJson, heading, line, verdict, type Section } from "./output";
import { RecordingError, recordingsIn, replayed } from "./recording/recordings";

const USAGE = `Usage: npm run replay -- DIR [--json]

Reads the answers that npm run doctor -- --record DIR has stored, with the service's own parsers. It asks no provider.

  --json   prints one JSON document instead of lines`;

const about = {
  usage: USAGE,
  flags: { json: { type: "boolean", default: false } },
  most: 1,
  forOperator: [RecordingError],
} as const;
await command(about, async ({ values: { json }, positionals: [directory] }) => {
  if (directory === undefined) throw new Misuse("Name one directory");
  const findings: Finding[] = [];
  for (const recording of await recordingsIn(directory)) findings.push(await replayed(recording));
  if (findings.length === 0) {
    console.error(`There is no recording in ${directory}.`);
    return 1;
  }
  const sections: Section[] = [["Replayed", findings]];
  const report = json
    ? asJson(sections)
    : [heading("Replayed"), ...findings.map(line), verdict(sections)].join("\n");
  console.log(report);
  return findings.some(({ level }) => level === "fault") ? 1 : 0;
});
