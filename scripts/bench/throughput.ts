import type { ChildProcess } from "node:child_process";
import * as z from "zod";
import { forkScript } from "../forked";
import { load, type Load } from "./load";
import type { Progress } from "./progress";
import { figure, median, quantile, type Table } from "./table";

/** Requests per second of a cached `GET /mcp/market`, against the least HTTP actions. */
export const question = "How much of the host's throughput does a cached GET /mcp/market keep?";

const CONNECTIONS = 16;
/** Until then the engine is still compiling what it runs most: the first thousands cost twice as much each. */
const WARM_UP_REQUESTS = 6_000;
const WARM_UP_MS = 500;
const ROUND_MS = 1_000;
const ROUNDS = 5;
/** Ends what hangs: on a busy machine a start takes long. */
const START_MS = 120_000;

const paths = {
  bare: { "HTTP action with a constant": "/constant", "HTTP action with one stored document": "/stored" },
  application: { "GET /mcp/market, cached": "/mcp/market" },
} as const;

type Subject = { name: string; url: string; loads: Load[] };

export async function run(progress: Progress): Promise<Table> {
  const servers: ChildProcess[] = [];
  try {
    const subjects = await start(servers);
    progress("warm-up");
    for (const { url } of subjects) await warmUp(url);
    for (let round = 0; round < ROUNDS; round++) {
      progress(`round ${round + 1} of ${ROUNDS}`);
      for (const { url, loads } of subjects) loads.push(await load(url, CONNECTIONS, ROUND_MS));
    }
    return {
      inputs: [
        "The local stack over loopback HTTP; the application, the bare actions and the load in a process each.",
        `${CONNECTIONS} connections; ${figure(WARM_UP_REQUESTS)} requests of warm-up, then ${ROUNDS} rounds of ${ROUND_MS / 1_000} s each in turn.`,
        "Rates, and their share of the first line's in the same round: medians of the rounds. Latencies: of all requests.",
      ],
      columns: ["", "requests/s", "lowest", "highest", "of the first", "p50 ms", "p95 ms", "p99 ms"],
      rows: subjects.map((subject) => rowOf(subject, subjects[0] ?? subject)),
      notes: [],
    };
  } finally {
    for (const server of servers) server.kill();
  }
}

async function start(servers: ChildProcess[]): Promise<Subject[]> {
  const subjects: Subject[] = [];
  for (const [application, named] of Object.entries(paths)) {
    const server = forkScript(new URL("server.ts", import.meta.url), [application]);
    servers.push(server);
    const url = await urlOf(server);
    for (const [name, path] of Object.entries(named)) subjects.push({ name, url: url + path, loads: [] });
  }
  return subjects;
}

async function warmUp(url: string): Promise<void> {
  for (let sent = 0; sent < WARM_UP_REQUESTS;)
    sent += (await load(url, CONNECTIONS, WARM_UP_MS)).latenciesMs.length;
}

function rowOf({ name, loads }: Subject, first: Subject): string[] {
  const rates = loads.map(({ requestsPerSecond }) => requestsPerSecond);
  const shares = rates.map((rate, round) => rate / (first.loads[round]?.requestsPerSecond ?? Number.NaN));
  const latencies = loads.flatMap(({ latenciesMs }) => latenciesMs);
  return [
    name,
    ...[median(rates), Math.min(...rates), Math.max(...rates)].map((rate) => figure(rate)),
    `${figure(100 * median(shares))} %`,
    ...[0.5, 0.95, 0.99].map((part) => figure(quantile(latencies, part), 1)),
  ];
}

/** The address a server tells once it is up. */
async function urlOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("The server is not up in time")), START_MS);
    server.once("message", (message) => {
      clearTimeout(timer);
      resolve(z.url().parse(message));
    });
    server.once("exit", (code) => reject(new Error(`The server ended with ${code}`)));
  });
}
