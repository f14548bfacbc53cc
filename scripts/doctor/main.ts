/**
 * `npm run doctor`: says of `.env.local` (and of the deployment that it names, or `-- --site URL` does) what is wrong
 * and what to do. It changes nothing, and none of its questions costs anything. Its exit code is 1 when there is a
 * fault.
 */

import { parseArgs } from "node:util";
import { applyVariables, operatorSettings } from "../stack/env";
import { bold, dim } from "../terminal";
import { checkChain } from "./chain";
import { checkConfiguration } from "./configuration";
import { checkDeployment, siteAddress } from "./deployment";
import type { Finding } from "./finding";
import { checkProviders } from "./providers";

const { values } = parseArgs({ options: { site: { type: "string" } } });
const settings = await operatorSettings(".env.local");
applyVariables(settings);

const sections: [string, Finding[]][] = [
  ["Configuration", checkConfiguration(settings)],
  ["Providers", await checkProviders()],
  ["Chain", await checkChain(Date.now())],
  ["Deployment", await checkDeployment(siteAddress(values.site, settings), Date.now())],
];

for (const [name, findings] of sections) {
  console.log(`\n${bold(name)}`);
  for (const finding of findings) console.log(line(finding));
}

const all = sections.flatMap(([, findings]) => findings);
const count = (level: Finding["level"]) => all.filter((one) => one.level === level).length;
const faults = count("fault");
console.log(
  `\n${bold(faults === 0 ? "Fit." : "Not fit.")} ${counted(faults, "fault")}, ${counted(count("warning"), "warning")}.`,
);
process.exitCode = faults === 0 ? 0 : 1;

function line({ level, subject, says, remedy }: Finding): string {
  const mark = { good: "✓", warning: "!", fault: "✗", off: "–" }[level];
  const text = `  ${mark} ${bold(subject)}: ${says}`;
  return remedy === undefined ? text : `${text}\n    ${dim(`→ ${remedy}`)}`;
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
