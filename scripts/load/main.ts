import type { ChildProcess } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import * as z from "zod";
import { createProgress } from "../bench/progress";
import { figure, quantile, rendered, type Table } from "../bench/table";
import { forkScript } from "../forked";
import { failed, Misuse } from "../misuse";
import { nextStep } from "../terminal";
import { atOnce, atRate, type Hit, type Shot } from "./client";

/**
 * `npm run load`: a mixed load on the local stack, over loopback, at a fixed rate and then beyond what it can take, each
 * beside the least HTTP action under the same load. Whoever is turned away must be told so by a 429, and by nothing else.
 */

const USAGE = `Usage: npm run load [-- --rate N] [--connections N] [--seconds N] [--json]

A mixed load on a local stack of its own, beside the least HTTP action under the same load.

  --rate N          requests a second in the first half (40; at most 1,000)
  --connections N   in the second half, each sending its next request at its last answer (64; at most 512)
  --seconds N       both halves together (30; at most 300); about 20 more for starting and for the bare action
  --json            the table as JSON on stdout (npm run --silent load -- --json)`;

const { rate, connections, seconds, json } = orderOf();
const halfMs = (seconds * 1_000) / 2;
const BARE_MS = 5_000;
const START_MS = 60_000;
const USERS = 50;

/** Of 20 requests; reads mostly, as a service's are. */
const mix: readonly [count: number, make: (userId: string, turn: number) => Shot][] = [
  [8, () => ({ name: "GET /mcp/market, cached", method: "GET", path: "/mcp/market" })],
  [
    3,
    (userId) => ({
      name: "GET /mcp/research/status",
      method: "GET",
      path: `/mcp/research/status?userId=${userId}`,
    }),
  ],
  [3, () => ({ name: "GET /mcp/signals/history", method: "GET", path: "/mcp/signals/history?limit=10" })],
  [2, () => ({ name: "GET /health", method: "GET", path: "/health" })],
  [
    2,
    (userId, turn) => ({
      name: "POST /user/messenger, a write",
      method: "POST",
      path: "/user/messenger",
      body: { userId, messengerChatId: String(1_000 + turn) },
    }),
  ],
  [
    2,
    (userId) => ({
      name: "POST /mcp/chat, a model call",
      method: "POST",
      path: "/mcp/chat",
      body: { userId, question: "What moves?" },
    }),
  ],
];

function* mixed(): Generator<Shot, undefined> {
  const deck = mix.flatMap(([count, make]) => Array.from({ length: count }, () => make));
  for (let turn = 0; ; turn++) {
    // 7 and 20 have no common divisor: every kind comes in its share, well mixed.
    const make = deck[(turn * 7) % deck.length];
    if (make !== undefined) yield make(`load-user-${turn % USERS}`, turn);
  }
}

function* bare(): Generator<Shot, undefined> {
  for (;;) yield { name: "bare HTTP action", method: "GET", path: "/constant" };
}

const servers: ChildProcess[] = [];
const progress = createProgress();
try {
  progress.show("starting the application and the bare action");
  const [application, least] = await Promise.all([start("application"), start("bare")]);
  progress.show("warm-up");
  // The first ones load what the rest find loaded.
  await atOnce(application, mixed(), 4, 3_000);
  await atOnce(least, bare(), 4, 1_000);
  progress.show(`${rate} requests/s: the bare action, ${BARE_MS / 1_000} s`);
  const steadyBare = await atRate(least, bare(), rate, BARE_MS);
  progress.show(`${rate} requests/s: mixed, ${halfMs / 1_000} s`);
  const steady = await atRate(application, mixed(), rate, halfMs);
  progress.show(`${connections} connections: the bare action, ${BARE_MS / 1_000} s`);
  const fullBare = await atOnce(least, bare(), connections, BARE_MS);
  progress.show(`${connections} connections: mixed, ${halfMs / 1_000} s`);
  const full = await atOnce(application, mixed(), connections, halfMs);

  progress.clear();
  const table: Table = {
    inputs: [
      `Node ${process.version}, ${availableParallelism()} cores shared by the load, the application and the bare action.`,
      `A fixed rate: ${rate} requests/s for ${halfMs / 1_000} s. Beyond saturation: ${connections} connections, each sending its next`,
      `request at its last answer, for ${halfMs / 1_000} s. The bare HTTP action: the same for ${BARE_MS / 1_000} s, just before.`,
    ],
    columns: ["", "requests", "requests/s", "p50 ms", "p95 ms", "p99 ms", "429", "other failures"],
    rows: [
      row(`${rate}/s: bare HTTP action`, steadyBare, BARE_MS),
      row(`${rate}/s: mixed`, steady, halfMs),
      ...kinds(steady, halfMs),
      row(`${connections} connections: bare HTTP action`, fullBare, BARE_MS),
      row(`${connections} connections: mixed`, full, halfMs),
      ...kinds(full, halfMs),
    ],
    notes: [],
  };
  console.log(
    json ? JSON.stringify(table, null, 2) : rendered("What does the service do under load?", table),
  );
  if (!json) console.log(nextStep("docs/capacity.md says what a deployment takes, and npm run bench why"));
  const failures = [...steady, ...full, ...steadyBare, ...fullBare].filter(isFailure);
  if (failures.length > 0) {
    const told = [...new Set(failures.map(({ name, status }) => `${name}: ${status}`))];
    console.error(`\nFAILED: ${failures.length} answers that are no 200 and no 429 (${told.join(", ")})`);
    process.exitCode = 1;
  }
} finally {
  for (const server of servers) server.kill();
}

function orderOf(): { rate: number; connections: number; seconds: number; json: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        rate: { type: "string", default: "40" },
        connections: { type: "string", default: "64" },
        seconds: { type: "string", default: "30" },
        json: { type: "boolean", default: false },
        help: { type: "boolean" },
      },
    });
    if (values.help === true) {
      console.log(USAGE);
      process.exit(0);
    }
    return {
      rate: bounded("rate", values.rate, 1_000),
      connections: bounded("connections", values.connections, 512),
      seconds: bounded("seconds", values.seconds, 300),
      json: values.json,
    };
  } catch (error) {
    process.exit(failed(error));
  }
}

function bounded(name: string, text: string, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new Misuse(`--${name} is a whole number from 1 to ${most}`);
}

function isFailure({ status }: Hit): boolean {
  return status !== 200 && status !== 429;
}

function kinds(hits: readonly Hit[], ms: number): string[][] {
  const names = [...new Set(hits.map(({ name }) => name))].sort();
  return names.map((name) =>
    row(
      `    ${name}`,
      hits.filter((one) => one.name === name),
      ms,
    ),
  );
}

function row(name: string, hits: readonly Hit[], ms: number): string[] {
  const latencies = hits.filter(({ status }) => status === 200).map((one) => one.ms);
  return [
    name,
    figure(hits.length),
    figure(hits.length / (ms / 1_000)),
    ...[0.5, 0.95, 0.99].map((part) => figure(quantile(latencies, part), 1)),
    figure(hits.filter(({ status }) => status === 429).length),
    figure(hits.filter(isFailure).length),
  ];
}

/** Starts one of the bench's servers, and answers with its address once it is up. */
async function start(which: "application" | "bare"): Promise<string> {
  const server = forkScript(new URL("server.ts", import.meta.url), [which]);
  servers.push(server);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("The server is not up in time")), START_MS);
    server.once("message", (message) => {
      clearTimeout(timer);
      resolve(z.url().parse(message));
    });
    server.once("exit", (code) => reject(new Error(`The server ended with ${code}`)));
  });
}
