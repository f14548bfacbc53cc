import { internal } from "../../convex/_generated/api";
import { MINUTE, SECOND } from "../../convex/lib/time";
import { SNAPSHOT_SCHEMA_NAME } from "../../convex/market/prompts";
import { ONCHAIN_SCHEMA_NAME } from "../../convex/research/writing/prompts";
import { RESULT_SCHEMA_NAME } from "../../convex/research/writing/resultShape";
import { EVIDENCE_SOURCES, type EvidenceSource } from "../standins/sources/evidence";
import type { SentRequest } from "../standins/index";
import { random } from "../standins/random";
import type { Progress } from "./progress";
import { figure, type Table } from "./table";
import { createWorld, type World } from "./world";

/** Upstream calls (LLM gateway, sentiment model, public sources) per 30 simulated minutes, by numbers of shifts and of foci. */
export const question = "How many upstream calls do the collections of research shifts cost?";

/** `overMinutes`: the starts fall into so many minutes at random; 0 starts all at once. `watched`: minutes. */
type Case = { shifts: number; foci: number; overMinutes: number; watched: number };

const cases: readonly Case[] = [
  { shifts: 1, foci: 1, overMinutes: 0, watched: 180 },
  { shifts: 3, foci: 3, overMinutes: 0, watched: 60 },
  { shifts: 100, foci: 3, overMinutes: 0, watched: 180 },
  { shifts: 300, foci: 3, overMinutes: 0, watched: 60 },
  { shifts: 1_000, foci: 3, overMinutes: 0, watched: 60 },
  { shifts: 200, foci: 10, overMinutes: 0, watched: 60 },
  { shifts: 60, foci: 60, overMinutes: 0, watched: 60 },
  { shifts: 120, foci: 3, overMinutes: 60, watched: 90 },
];

const WINDOW = 30 * MINUTE;
const SOURCES = 3;
/** An observation serves for five minutes: at the very most six fall into a window. */
const MOST_OBSERVATIONS = 6;

/**
 * Calls of public sources for a collection: those that all foci share (two lists, the perpetuals, two supplies, and day,
 * book and candles of three coins), and those of a focus that neither exchange lists (three at each, and the news).
 */
const SHARED_CALLS = 14;
const CALLS_OF_A_FOCUS = 7;
/** What the day's signals and their outcomes ask of the same sources in the busiest 30 minutes, however many shifts there are. */
const CALLS_OF_SIGNALS = 13;
/** Collections of more foci take longer than what they share stays fresh: it is asked for again, six times in 30 minutes at most. */
const FOCI_AT_ONCE = 3;

const CRON_EVERY = 5 * MINUTE;
/** The crons' phase has nothing to do with the first start's. */
const FIRST_CRON = 2 * MINUTE;
const ANSWER_MS = { llm: 10 * SECOND, sentiment: 45 * SECOND, messenger: SECOND };
const FIRST_REPORT = 150;

type Counted = {
  gateway: number;
  sentiment: number;
  ofOneFocus: number;
  /** Of one focus. */
  target: number;
  reports: number;
  writing: number;
  /** Of public sources, in the busiest 30 minutes. */
  facts: number;
  factsTarget: number;
  /** Of each of them, in its busiest 30 minutes. */
  bySource: Record<EvidenceSource, number>;
  /** Rows of facts stored, per 30 minutes. */
  factRows: number;
};

export async function run(progress: Progress): Promise<Table> {
  const counted: { one: Case; counts: Counted }[] = [];
  for (const one of cases) {
    progress(`${figure(one.shifts)} shifts on ${one.foci} foci, ${one.watched} simulated minutes`);
    counted.push({ one, counts: await count(one) });
  }
  const above = counted.filter(({ one, counts }) => {
    return (
      counts.facts > counts.factsTarget ||
      counts.ofOneFocus > counts.target ||
      counts.gateway + counts.sentiment > counts.target * one.foci
    );
  });
  return {
    next: bySource(counted),
    inputs: [
      "The application on a simulated clock; its crons every 5 minutes, the first 2 minutes after the first start.",
      "Answers take 10 s (gateway), 45 s (sentiment) and 1 s (messenger); none fails.",
      "Calls: the most in 30 minutes, all of them (gateway + sentiment) and those of one focus, each beside its target.",
      "For shifts started together, 30 minutes are counted from the start; otherwise any 30 minutes count.",
      "Targets: 3 per focus for shifts started together, 18 per focus for any starts. Unshared: 3 per shift, computed.",
      "Public sources: their calls in the busiest 30 minutes. Targets: 14 for all (six times with more than 3 foci) and 7 per focus that no exchange lists, six times that for any starts, and 13 of the day's signals. Rows of facts: stored per 30 minutes.",
      "Reports: all written in the time watched (the first is due after 2.5 h), and the gateway calls that took.",
    ],
    columns: [
      ...["shifts", "foci", "started", "watched", "calls", "target", "gateway + sentiment"],
      ...[
        "of one focus",
        "target",
        "unshared",
        "public sources",
        "target",
        "rows of facts",
        "reports",
        "calls for them",
      ],
    ],
    rows: counted.map(({ one, counts }) => rowOf(one, counts)),
    notes: above.map(({ one }) => `ABOVE ITS TARGET: ${one.shifts} shifts, ${one.foci} foci`),
  };
}

/** The same by source, for shifts that started together on three foci: the number of shifts is to make no difference. */
function bySource(counted: readonly { one: Case; counts: Counted }[]): NonNullable<Table["next"]> {
  const three = counted.filter(({ one }) => one.foci === 3 && one.overMinutes === 0);
  const isFlat = (source: EvidenceSource) =>
    new Set(three.map(({ counts }) => counts.bySource[source])).size === 1;
  const uneven = EVIDENCE_SOURCES.filter((source) => !isFlat(source));
  return {
    question: "How many calls does each public source of facts get, whatever the number of shifts?",
    inputs: [
      "Shifts started together on 3 foci: the calls of each source in its busiest 30 minutes.",
      "The foci are on no exchange, so that each of their facts is asked of both. Base is not among them: this world has no chain; its collector asks it once a minute at most, for everybody.",
    ],
    columns: ["shifts", ...EVIDENCE_SOURCES],
    rows: three.map(({ one, counts }) => [
      figure(one.shifts),
      ...EVIDENCE_SOURCES.map((source) => figure(counts.bySource[source])),
    ]),
    notes: uneven.map((source) => `NOT FLAT: ${source}`),
  };
}

function rowOf({ shifts, foci, overMinutes, watched }: Case, counts: Counted): string[] {
  return [
    figure(shifts),
    figure(foci),
    overMinutes === 0 ? "together" : `over ${overMinutes} min`,
    `${watched} min`,
    figure(counts.gateway + counts.sentiment),
    `≤ ${figure(counts.target * foci)}`,
    `${figure(counts.gateway)} + ${figure(counts.sentiment)}`,
    figure(counts.ofOneFocus),
    `≤ ${counts.target}`,
    figure(SOURCES * shifts),
    figure(counts.facts),
    `≤ ${figure(counts.factsTarget)}`,
    figure(counts.factRows),
    ...(watched > FIRST_REPORT ? [figure(counts.reports), figure(counts.writing)] : ["-", "-"]),
  ];
}

/** The gateway's half of a collection; the day's signals, which fall into the time watched, are none. */
function isCollecting({ schema }: SentRequest): boolean {
  return schema === SNAPSHOT_SCHEMA_NAME || schema === ONCHAIN_SCHEMA_NAME;
}

async function count(one: Case): Promise<Counted> {
  const { foci, overMinutes, watched } = one;
  const world = await createWorld({ answerMs: ANSWER_MS });
  try {
    const startedAt = world.clock.now();
    await play(world, one);
    const isWriting = ({ schema }: SentRequest) => schema === RESULT_SCHEMA_NAME;
    const gateway = world.standins.sent("llm");
    const sentiment = world.standins.sent("sentiment");
    const collecting = [...gateway.filter(isCollecting), ...sentiment];
    const windows = range(watched / 30).map((index) => startedAt + index * WINDOW);
    const most = (calls: readonly SentRequest[]) =>
      busiestWindow(calls, overMinutes === 0 ? windows : calls.map(({ at }) => at));
    const busiest = most(collecting);
    const bySentiment = busiest.filter((call) => sentiment.includes(call)).length;
    const facts = EVIDENCE_SOURCES.flatMap((source) => world.standins.sent(source));
    const perFocus = range(foci).map((index) => collecting.filter((call) => isAbout(call, focusName(index))));
    return {
      gateway: busiest.length - bySentiment,
      sentiment: bySentiment,
      ofOneFocus: Math.max(...perFocus.map((calls) => most(calls).length)),
      target: overMinutes === 0 ? SOURCES : SOURCES * MOST_OBSERVATIONS,
      facts: most(facts).length,
      bySource: bySources((source) => most(world.standins.sent(source)).length),
      factsTarget:
        CALLS_OF_SIGNALS +
        SHARED_CALLS * (overMinutes === 0 && foci <= FOCI_AT_ONCE ? 1 : MOST_OBSERVATIONS) +
        CALLS_OF_A_FOCUS * foci * (overMinutes === 0 ? 1 : MOST_OBSERVATIONS),
      factRows: Math.round(
        (await world.t.run(({ db }) => db.query("facts").collect())).length / (watched / 30),
      ),
      reports: (await world.t.run(({ db }) => db.query("reports").collect())).length,
      writing: gateway.filter(isWriting).length,
    };
  } finally {
    world.stop();
  }
}

function bySources(count: (source: EvidenceSource) => number): Record<EvidenceSource, number> {
  return {
    coinbase: count("coinbase"),
    binance: count("binance"),
    coingecko: count("coingecko"),
    hyperliquid: count("hyperliquid"),
    defillama: count("defillama"),
    gdelt: count("gdelt"),
    coindesk: count("coindesk"),
    cointelegraph: count("cointelegraph"),
    decrypt: count("decrypt"),
  };
}

/** Starts the shifts and runs the crons, all at their times. */
async function play(world: World, { shifts, foci, overMinutes, watched }: Case): Promise<void> {
  const { t, clock, crons } = world;
  const chance = random("starts", shifts, foci);
  const failures: unknown[] = [];
  const at = (ms: number, work: () => Promise<unknown>) =>
    clock.after(ms, () => void work().catch((error: unknown) => failures.push(error)));
  for (let i = 0; i < shifts; i++) {
    const paidBy = { class: "anonymous" as const, holders: [`user-${i}`] };
    const shift = { userId: `user-${i}`, token: focusName(i % foci), signedIn: false, paidBy };
    at(Math.floor(chance.between(0, overMinutes) * MINUTE), () =>
      t.mutation(internal.research.shifts.start, shift),
    );
  }
  for (let ms = FIRST_CRON; ms < watched * MINUTE; ms += CRON_EVERY) {
    for (const { tick } of crons) at(ms, tick);
  }
  await clock.advance(watched * MINUTE);
  if (failures.length > 0) throw new AggregateError(failures, "A start or a cron failed");
}

/** The calls of that 30 minutes, of those beginning at `starts`, which has the most. */
function busiestWindow(calls: readonly SentRequest[], starts: readonly number[]): SentRequest[] {
  let busiest: SentRequest[] = [];
  for (const start of starts) {
    const window = calls.filter(({ at }) => at >= start && at < start + WINDOW);
    if (window.length > busiest.length) busiest = window;
  }
  return busiest;
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}

/** A token that no prompt names unless it is the focus. */
function focusName(index: number): string {
  return `FOCUS${index}X`;
}

function isAbout({ body }: SentRequest, focus: string): boolean {
  return JSON.stringify(body).includes(focus);
}
