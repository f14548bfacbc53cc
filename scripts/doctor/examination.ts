import { parseArgs } from "node:util";
import { variableNames } from "../../convex/lib/env";
import { applyVariables } from "../stack/env";
import { checkChain } from "./chain";
import { checkConfiguration } from "./configuration";
import { checkDeployment } from "./deployment";
import { watchFetch } from "./recording/exchanges";
import { findPatient } from "./patient";
import type { Finding } from "./finding";
import { asJson, heading, line, sums, verdict, type Section, type Tell } from "./output";
import { nextStep } from "../terminal";
import { checkProviders } from "./providers";
import { QUESTIONS } from "./questions";

const USAGE = `Usage: npm run doctor [-- --site URL] [--prod] [--deployment NAME] [--record DIR] [--json] [--cost]

Without --site it examines the deployment that .env.local names, or else the local stack that is running here.

  --site URL     a deployment's HTTP address
  --prod, --deployment NAME
                 the deployment whose variables are read, as in the Convex CLI
  --record DIR   stores the providers' answers in DIR, without keys, tokens and ids, for npm run replay -- DIR
  --json         prints one JSON document instead of lines
  --cost         only says what it would ask and what that costs at most; asks nothing

Environment: PROVIDERS_PORT (3299), the port of the local stack; LOCAL_ENV_FILE (.env.local)`;

/** Runs `npm run doctor` with these arguments. @returns Its exit code. */
export async function examine(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      site: { type: "string" },
      prod: { type: "boolean" },
      deployment: { type: "string" },
      record: { type: "string" },
      json: { type: "boolean" },
      cost: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return say(USAGE);
  if (values.cost === true) return say(costs());
  const cli = [
    ...(values.prod === true ? ["--prod"] : []),
    ...(values.deployment === undefined ? [] : ["--deployment", values.deployment]),
  ];
  const patient = await findPatient({ site: values.site, cli });
  const { settings, site, local } = patient;
  // Settings of the environment that the deployment lacks must not be visible either.
  applyVariables({ ...Object.fromEntries(variableNames().map((name) => [name, undefined])), ...settings });
  watchFetch();
  const show = values.json === true ? () => {} : (text: string) => console.log(text);
  const sections: Section[] = [];
  const section = async (name: string, check: (tell: Tell) => void | Promise<void>) => {
    const findings: Finding[] = [];
    sections.push([name, findings]);
    show(heading(name));
    await check((finding) => {
      findings.push(finding);
      show(line(finding));
    });
  };
  await section("Configuration", (tell) => {
    for (const finding of [...patient.findings, ...checkConfiguration(patient)]) tell(finding);
  });
  await section("Providers", (tell) => checkProviders(settings, Date.now(), values.record ?? null, tell));
  await section("Chain", (tell) => checkChain(Date.now(), tell));
  await section("Deployment", (tell) => checkDeployment({ site, local, nowMs: Date.now() }, tell));
  const isFit = sums(sections).faults === 0;
  console.log(values.json === true ? asJson(sections) : verdict(sections));
  show(
    nextStep(
      isFit
        ? "npm run verify-signals -- URL checks its record"
        : "do what the arrows say, then run the doctor again",
    ),
  );
  return isFit ? 0 : 1;
}

function costs(): string {
  const lines = QUESTIONS.map(({ subject, asks, costUsd }) => {
    const price = costUsd === 0 ? "free" : `${costUsd.toFixed(3)} USD`;
    return `  ${subject.padEnd(16)} ${price.padEnd(10)} ${asks}`;
  });
  const total = QUESTIONS.reduce((sum, { costUsd }) => sum + costUsd, 0);
  return [
    "What the doctor asks, and what that costs at most; a provider without a key, or a simulated one, costs nothing:",
    ...lines,
    `  ${"chain RPC".padEnd(16)} ${"free".padEnd(10)} about 12 requests of your plan: feeds, USDC, eth_getLogs, eth_simulateV1`,
    `  ${"deployment".padEnd(16)} ${"free".padEnd(10)} /health twice, getWebhookInfo`,
    `At most ${total.toFixed(2)} USD. Nothing was asked.`,
  ].join("\n");
}

function say(text: string): number {
  console.log(text);
  return 0;
}
