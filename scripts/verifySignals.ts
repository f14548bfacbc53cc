import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import * as z from "zod";
import {
  anchorShape,
  chainHead,
  signalEvent,
  type ChainHead,
  type SignalEvent,
} from "../convex/signals/record/events";
import { signalStats } from "../convex/signals/statistics/shapes";
import { publicSignal, type PublicSignal } from "../convex/signals/views/shapes";
import { failed, Misuse } from "./misuse";
import { parsed, read, Unreadable } from "./publicRecord";
import { green, nextStep, red } from "./terminal";
import { anchorFindings, chainReader, type AnchorAccount, type AnchorFindings } from "./verifySignalsAnchors";
import { problemsOfRecord, recordShape, type SignalRecord } from "./verifySignalsChecks";
import { problemsOfShadows, shadowRecord, type ShadowRecord } from "./verifySignalsShadow";

/**
 * `npm run verify-signals -- <url|file> [--head <hash>] [--rpc <url>] [--shadow] [--save <file>]
 * [--json]`: checks the signal record of a deployment, or
 * one that was saved, against its hash chain. Exit code 0: the record holds; 1: it does not, and what is wrong; 2: it
 * could not be checked.
 */

const USAGE = `Usage: npm run verify-signals -- URL|FILE [--head HASH] [--rpc URL] [--shadow] [--save FILE] [--json]

  --head HASH   the chain's head as it was published on a card: rules out a rewritten chain
  --rpc URL     an RPC of Base, such as https://mainnet.base.org: holds the record against its anchors
  --shadow      checks the shadow signals and what is shown of their arms as well
  --save FILE   keeps what was read, to be checked again without the deployment
  --json        for programs: holds, problems, events, signals, head, anchors

Exit code 0: the record holds; 1: it does not; 2: it could not be checked.`;

const EVENTS_PER_PAGE = 500;
const SIGNALS_PER_PAGE = 100;
/** A signal may be issued or closed while the record is read: then it is read again. */
const READINGS = 5;
const WHAT = "signal record";

const proofShape = z.object({ events: z.array(signalEvent), head: chainHead.nullable() });
const anchorPage = z.object({ addresses: z.array(z.string()), anchors: z.array(anchorShape) });
const historyShape = z.object({ signals: z.array(publicSignal), stats: signalStats });

async function main(): Promise<number> {
  const { source, head, rpc, shadow, save, json } = options();
  const isUrl = /^https?:\/\//.test(source);
  const record = isUrl ? await fromDeployment(source, shadow) : await fromFile(source);
  if (save !== undefined) await writeFile(save, `${JSON.stringify(record, null, 2)}\n`);
  const anchored = rpc === undefined ? null : await findingsOnChain(record, rpc);
  const problems = [
    ...problemsOfRecord(record, head),
    ...(record.shadow === undefined ? [] : problemsOfShadows(record.shadow, record.events)),
    ...(anchored?.problems ?? []),
  ];
  if (json) {
    console.log(JSON.stringify(findings(record, problems, anchored), null, 2));
    return problems.length > 0 ? 1 : 0;
  }
  if (problems.length > 0) {
    console.log(`${red("✗")} The record does not hold (${problems.length} found):`);
    for (const problem of problems) console.log(`  - ${problem}`);
    if (save === undefined) console.log(nextStep("--save FILE keeps what was read, to show it to others"));
    return 1;
  }
  const { events, signals } = record;
  console.log(`${green("✓")} The record holds: ${events.length} events, ${signals.length} signals.`);
  console.log("  Every hash fits, every signal and outcome is as it was recorded, and nothing is missing.");
  if (record.stats !== undefined) console.log("  The statistics follow from the events.");
  if (record.head !== null) console.log(`  Head: event ${record.head.sequence}, ${record.head.hash}`);
  if (record.shadow !== undefined) {
    const { events: shadows, arms } = record.shadow;
    console.log(
      `  The shadow signals hold: ${shadows.length} events of ${arms.length} arms, whose figures follow from them.`,
    );
  }
  for (const line of anchorLines(record, anchored)) console.log(`  ${line}`);
  const compared = "npm run verify-whales -- URL checks the whale alerts";
  const alone = "compare the head with one from a card (--head), to rule out a rewritten chain";
  console.log(nextStep(head === undefined ? alone : compared));
  return 0;
}

/** What was found, for programs. */
function findings(
  { events, signals, head, shadow }: SignalRecord,
  problems: readonly string[],
  anchored: AnchorFindings | null,
) {
  const fixed = anchored?.fixed.map(({ sequence, since }) => ({ sequence, since: since.toISOString() }));
  return {
    holds: problems.length === 0,
    problems,
    events: events.length,
    signals: signals.length,
    ...(shadow === undefined ? {} : { shadowEvents: shadow.events.length }),
    head,
    anchors: anchored === null ? null : { notes: anchored.notes, fixed },
  };
}

async function findingsOnChain(record: SignalRecord, rpc: string): Promise<AnchorFindings> {
  try {
    return await anchorFindings(record.events, record.anchors ?? [], await chainReader(rpc));
  } catch (error) {
    throw new Unreadable(
      `The anchors could not be checked: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** From when on nothing can have been rewritten, and what is no alarm. */
function anchorLines({ events, anchors = [] }: SignalRecord, found: AnchorFindings | null): string[] {
  const signed = anchors.reduce((sum, account) => sum + account.anchors.length, 0);
  if (found === null) {
    return signed === 0
      ? []
      : [`Anchored on Base in ${signed} transactions: give an RPC (--rpc) to check them.`];
  }
  const lines = found.notes.map((note) => `Note: ${note}.`);
  const [first] = found.fixed;
  const last = found.fixed.at(-1);
  if (first === undefined || last === undefined)
    return [...lines, "No anchor is on the chain: nothing says since when this record is so."];
  return [
    ...lines,
    `Events 1 to ${first.sequence} cannot have been rewritten since ${first.since.toISOString()},`,
    `events up to ${last.sequence} since ${last.since.toISOString()}; the ${events.length - last.sequence} behind it await an anchor.`,
  ];
}

function options(): {
  source: string;
  head: string | undefined;
  rpc: string | undefined;
  shadow: boolean;
  save: string | undefined;
  json: boolean;
} {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      head: { type: "string" },
      rpc: { type: "string" },
      shadow: { type: "boolean" },
      save: { type: "string" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(USAGE);
    process.exit(0);
  }
  const [source] = positionals;
  if (source === undefined || positionals.length > 1) throw new Misuse("Name one service or file");
  const { rpc, shadow = false, save, json = false } = values;
  return { source, head: values.head?.toLowerCase(), rpc, shadow, save, json };
}

async function fromFile(path: string): Promise<SignalRecord> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new Unreadable(`${path} cannot be read`);
  }
  return parsed(recordShape, text, path, WHAT);
}

async function fromDeployment(base: string, withShadows: boolean): Promise<SignalRecord> {
  for (let reading = 1; reading <= READINGS; reading++) {
    const { events, head } = await readEvents(base);
    const [btc, eth, all] = [
      await readSignals(base, "BTC"),
      await readSignals(base, "ETH"),
      await read(base, "/mcp/signals/history?limit=1", historyShape, WHAT),
    ];
    const shadow = withShadows ? await readShadows(base) : undefined;
    const after = await read(base, "/signals/proof?limit=1", proofShape, WHAT);
    if (after.head?.hash !== head?.hash) continue;
    const stats = { BTC: btc.stats, ETH: eth.stats, ALL: all.stats };
    return {
      events,
      head,
      signals: [...btc.signals, ...eth.signals],
      stats,
      anchors: await readAnchors(base),
      ...(shadow === undefined ? {} : { shadow }),
    };
  }
  throw new Unreadable(`The record changed during each of ${READINGS} readings: try again`);
}

async function readEvents(base: string): Promise<{ events: SignalEvent[]; head: ChainHead | null }> {
  const events: SignalEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.sequence ?? 0;
    const path = `/signals/proof?after=${after}&limit=${EVENTS_PER_PAGE}`;
    const page = await read(base, path, proofShape, WHAT);
    events.push(...page.events);
    const last = events.at(-1)?.sequence ?? 0;
    if (page.events.length === 0 || last <= after || last >= (page.head?.sequence ?? 0)) {
      return { events, head: page.head };
    }
  }
}

/** The shadow chain grows every hour: what is shown of the arms is read with the page that ends it. */
async function readShadows(base: string): Promise<ShadowRecord> {
  const events: ShadowRecord["events"] = [];
  for (;;) {
    const after = events.at(-1)?.sequence ?? 0;
    const path = `/signals/shadow?after=${after}&limit=${EVENTS_PER_PAGE}`;
    const { events: more, ...lab } = await read(base, path, shadowRecord, WHAT);
    events.push(...more);
    if (events.length >= (lab.head?.sequence ?? 0) || more.length === 0) return { ...lab, events };
  }
}

async function readAnchors(base: string): Promise<AnchorAccount[]> {
  const { addresses } = await read(base, "/signals/anchors?limit=1", anchorPage, WHAT);
  const accounts: AnchorAccount[] = [];
  for (const address of addresses) {
    const anchors: AnchorAccount["anchors"] = [];
    for (;;) {
      const from = (anchors.at(-1)?.nonce ?? -1) + 1;
      const path = `/signals/anchors?address=${address}&from=${from}&limit=${EVENTS_PER_PAGE}`;
      const page = await read(base, path, anchorPage, WHAT);
      anchors.push(...page.anchors.filter(({ nonce }) => nonce >= from));
      if (page.anchors.length < EVENTS_PER_PAGE) break;
    }
    accounts.push({ address, anchors });
  }
  return accounts;
}

async function readSignals(base: string, token: string) {
  const signals: PublicSignal[] = [];
  for (;;) {
    const last = signals.at(-1)?.generatedAt;
    const before = last === undefined ? "" : `&before=${encodeURIComponent(last)}`;
    const path = `/mcp/signals/history?token=${token}&limit=${SIGNALS_PER_PAGE}${before}`;
    const page = await read(base, path, historyShape, WHAT);
    signals.push(...page.signals);
    const moved = signals.at(-1)?.generatedAt !== last;
    if (page.signals.length < SIGNALS_PER_PAGE || !moved) return { signals, stats: page.stats };
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  failed(error, (one) => one instanceof Unreadable);
  process.exitCode = 2;
}
