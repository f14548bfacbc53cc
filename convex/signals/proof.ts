import * as z from "zod";
import { internal } from "../_generated/api";
import { EXAMPLE_TIME, EXAMPLE_TX, wholeNumberWithDefault } from "../platform/http/input";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { buildIssuedStatement, linkEvent } from "./chain";
import { toPublicSignal } from "./record";
import { chainHead, eventContent, publicSignal, signalEvent, type PublicSignal } from "./shapes";
import type { Issued, Signal } from "./tables";

/** The public evidence of the signals: the chain of their events with its anchors, and all signals as files. */

/** The example of the API document: one signal from issue to end, made by the service's own code. */
const issuedExample: Issued = {
  token: "BTC",
  day: "2026-01-05",
  signal: "BUY",
  entry: 97_250,
  tp1: 98_200,
  tp2: 99_100,
  sl: 96_300,
  confidence: 68,
  reasoning: "Funding has cooled while spot demand holds, and the hourly trend points up.",
  model: "claude-haiku-4.5",
  promptVersion: "signal-5",
  price: { usd: 97_250, source: "coinbase", observedAt: Date.UTC(2026, 0, 5, 9, 29, 40) },
  costBps: 15,
  generatedAt: Date.parse(EXAMPLE_TIME),
  expiresAt: Date.UTC(2026, 0, 5, 15, 30),
};
export const storedExample: Signal = {
  ...issuedExample,
  status: "WIN",
  closedAt: Date.UTC(2026, 0, 5, 12),
  exitPrice: 98_200,
  pnlPercent: 0.976864,
  gapMinutes: 0,
};
export const signalExample = toPublicSignal(storedExample);

const anchorExample = { address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", txHashes: [EXAMPLE_TX] };

const proofEndpoint: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/signals/proof",
  summary:
    "The tamper-evident record of signals: hash-chained events and the chain's head. `npm run verify-signals` checks it.",
  description:
    "An event when a signal is issued, when it is closed, and for each day on which a token got none, in order. Each carries the SHA-256 of its content and of the event before it, so nothing can be changed or left out without changing the head that cards have published. Where the operator has an account for it, the head goes to Base once a day: `anchors`.",
  example: {
    input: { after: 0, limit: 1 },
    output: {
      events: [
        toPublicEvent({ ...linkEvent(null, buildIssuedStatement(issuedExample)), anchors: [anchorExample] }),
      ],
      head: { sequence: 2, hash: "9c".repeat(32) },
      count: 1,
    },
  },
  input: z.object({
    after: wholeNumberWithDefault(0, 0, Number.MAX_SAFE_INTEGER).describe(
      "Only events behind this sequence number, default 0",
    ),
    limit: wholeNumberWithDefault(100, 1, 500).describe("1 to 500, default 100"),
  }),
  returns: z.object({
    events: z.array(signalEvent),
    head: chainHead.nullable().describe("null before the first event"),
    count: z.number().describe("How many events this answer holds"),
  }),
  handler: async (ctx, input) => {
    const { events, head } = await ctx.runQuery(internal.signals.chain.listEvents, input);
    return { events: events.map(toPublicEvent), head, count: events.length };
  },
});

type Event = ReturnType<typeof linkEvent> & Pick<z.output<typeof signalEvent>, "anchors">;

function toPublicEvent({ token: _, day: __, content, ...link }: Event) {
  return { ...link, content: eventContent.parse(JSON.parse(content)) };
}

const asJson: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/signals/export.json",
  summary: "Every signal with its levels, times and outcome, oldest first.",
  description: "All of them in one answer, for those who compute on them.",
  example: { input: {}, output: { signals: [signalExample], count: 1 } },
  input: z.object({}),
  returns: z.object({ signals: z.array(publicSignal), count: z.int() }),
  handler: async (ctx) => {
    const signals = (await ctx.runQuery(internal.signals.history.readAllSignals, {})).map(toPublicSignal);
    return { signals, count: signals.length };
  },
});

const asSheet: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/signals/export.csv",
  summary: "Every signal as comma-separated values, oldest first.",
  description: "As RFC 4180 has them, with a line of names, for spreadsheets.",
  media: "text/csv",
  input: z.object({}),
  returns: z.string(),
  handler: async (ctx) =>
    formatSheet((await ctx.runQuery(internal.signals.history.readAllSignals, {})).map(toPublicSignal)),
});

/** Lines of comma-separated values (RFC 4180), with a line of names. */
function formatSheet(signals: readonly PublicSignal[]): string {
  const names = publicSignal.keyof().options;
  const cell = (value: string | number | null | undefined) => {
    const said = value === null || value === undefined ? "" : String(value);
    // Spreadsheets execute a text that begins like a formula.
    const text = typeof value === "string" && /^[=+@\t\r-]/.test(said) ? `'${said}` : said;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = signals.map((one) => names.map((name) => cell(one[name])).join(","));
  return [names.join(","), ...lines, ""].join("\r\n");
}

export const proofEndpoints: MountedEndpoint[] = [proofEndpoint, asJson, asSheet];
