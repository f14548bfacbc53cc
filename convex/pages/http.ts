import * as z from "zod";
import type { ActionCtx } from "../_generated/server";
import { endpoint, type Endpoint, type MountedEndpoint, type Reply } from "../lib/http/endpoint";
import { absentWhenEmpty, optionalToken, text } from "../lib/http/input";
import { readStatus } from "../ops/http";
import { TITLE, VERSION } from "../ops/version";
import { signalToken } from "../signals/shapes";
import { hoursOr } from "../whales/shapes";
import type { Page } from "./layout";
import {
  oneSignal,
  record,
  recordExample,
  research,
  researchPageExample,
  serviceStatus,
  signalPageExample,
  statusExample,
  whales,
  whalesPageExample,
} from "./shapes";

/** Pages for people, each with its content as JSON. The code that makes HTML is loaded when a page is asked for. */

const PAGE_HEADERS = {
  Vary: "Which answer it is depends on what the caller accepts.",
  "Cache-Control": "For how long it may be kept: a page for a minute.",
  "Referrer-Policy": "Of a page: no-referrer.",
  "Content-Security-Policy": "Of a page: nothing is loaded from anywhere, and nothing runs.",
};

type Shown<Input extends z.ZodType, Output extends z.ZodType> = Pick<
  Endpoint<Input, Output>,
  "path" | "summary" | "description" | "example" | "errors" | "input" | "returns"
> & {
  read: (ctx: ActionCtx, input: z.output<Input>) => Promise<z.input<Output>>;
  /** @param now Epoch ms. */
  render: (value: z.output<Output>, now: number) => Promise<Page>;
};

/** A page that shows exactly the content of its JSON. */
function shown<Input extends z.ZodType, Output extends z.ZodType>({
  read,
  render,
  ...described
}: Shown<Input, Output>): MountedEndpoint {
  return endpoint<Input, Output>({
    ...described,
    methods: ["GET"],
    answerHeaders: PAGE_HEADERS,
    handler: read,
    page: async (ctx, input) => {
      const value = described.returns.parse(await read(ctx, input));
      return framed((now) => render(value, now));
    },
  });
}

/** A page in the common frame, at this moment. */
async function framed(content: (now: number) => Page | Promise<Page>): Promise<Reply<string>> {
  const now = Date.now();
  const { pageReply } = await import("./layout");
  return pageReply(await content(now), now);
}

const LINKS = { reference: "/docs", openapi: "/openapi.json", health: "/health", market: "/mcp/market" };

const home: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/",
  summary: "What answers here, and where to read on; for people a page with the day's prices and signals.",
  description:
    "The name and version of the service, and links to its health, its reference and a first answer. The page shows what /mcp/prices, /mcp/market, /mcp/signals/latest, /signals/{id} and /mcp/whale-alerts hold; it asks nobody for a newer market.",
  answerHeaders: PAGE_HEADERS,
  example: { input: {}, output: { service: TITLE, version: VERSION, links: LINKS } },
  input: z.object({}),
  returns: z.object({
    service: z.string(),
    version: z.string(),
    links: z.record(z.string(), z.string()).describe("Paths of this service, by what is there"),
  }),
  handler: () => Promise.resolve({ service: TITLE, version: VERSION, links: LINKS }),
  page: async (ctx) => {
    const { readHome } = await import("./data");
    const { homePage } = await import("./home");
    const data = await readHome(ctx);
    return framed((now) => homePage(data, now));
  },
});

const listedBefore = absentWhenEmpty(z.iso.datetime("must be an ISO 8601 UTC time")).describe(
  "Signals before that moment, as `older` of an answer has it: a page that lists them alone",
);

const recordPage: MountedEndpoint = shown({
  path: "/record",
  summary: "The record of the signals: the result in a sentence, how results added up, and how to verify it.",
  description: "The statistics are those of /mcp/signals/history, of one token or of both.",
  example: { input: { token: "BTC" }, output: recordExample },
  input: z.object({ token: signalToken, before: listedBefore }),
  returns: record,
  read: async (ctx, input) => (await import("./data")).readRecord(ctx, input),
  render: async (value) => (await import("./record")).recordPage(value),
});

const signalPage: MountedEndpoint = shown({
  path: "/signals/{id}",
  summary: "One signal, with its levels on the path of the price.",
  description:
    "Each price says who gave it. The path has a point every five minutes for a week, later one an hour; of a signal that is open it ends with the newest price.",
  errors: { not_found: "There is no such signal." },
  example: { input: { id: "BTC-2026-01-05" }, output: signalPageExample },
  input: z.object({ id: text(40).describe("Token and UTC day, BTC-2026-11-20, in any case") }),
  returns: oneSignal,
  read: async (ctx, { id }) => (await import("./data")).readSignal(ctx, id),
  render: async (value) => (await import("./signal")).signalPage(value),
});

const researchPage: MountedEndpoint = shown({
  path: "/research",
  summary:
    "The latest research on a token, or on the whole market: what was measured, and what a model said.",
  description:
    "The latest report of a shift and the last on-demand result, as /mcp/research/report and /mcp/research tell them. Looking has nothing written: for a newer one, ask POST /mcp/research.",
  example: { input: { token: "ETH" }, output: researchPageExample },
  input: z.object({ token: optionalToken }),
  returns: research,
  read: async (ctx, { token }) => (await import("./data")).readResearch(ctx, token),
  render: async (value, now) => (await import("./research")).researchPage(value, now),
});

const whalesPage: MountedEndpoint = shown({
  path: "/whales",
  summary: "Whale alerts by time and size.",
  description: "The newest hundred of what /mcp/whale-alerts shows for the same hours.",
  example: { input: { hours: 24 }, output: whalesPageExample },
  input: z.object({ hours: hoursOr(24) }),
  returns: whales,
  read: async (ctx, { hours }) => (await import("./data")).readWhales(ctx, hours),
  render: async (value, now) => (await import("./whales")).whalesPage(value, now),
});

const statusPage: MountedEndpoint = shown({
  path: "/status",
  summary: "What works now.",
  description: "For users: a provider has trouble after two failed calls in a row, until it answers one.",
  example: { input: {}, output: statusExample },
  input: z.object({}),
  returns: serviceStatus,
  read: (ctx) => readStatus(ctx),
  render: async (value) => (await import("./status")).statusPage(value),
});

export const pageEndpoints: MountedEndpoint[] = [
  home,
  recordPage,
  signalPage,
  researchPage,
  whalesPage,
  statusPage,
];
