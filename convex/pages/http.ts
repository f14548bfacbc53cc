import * as z from "zod";
import { internal } from "../_generated/api";
import { FORGET, freezeFromPage, FROM_ELSEWHERE, pageToken, readOpenPage } from "../accounts/pageHttp";
import { READS_COOKIE, refuseOtherSites, SETS_COOKIE } from "../accounts/pageHttp";
import type { ActionCtx } from "../_generated/server";
import {
  defineEndpoint,
  Reply,
  type Call,
  type Endpoint,
  type MountedEndpoint,
} from "../platform/http/endpoint";
import {
  numberInRange,
  optionalToken,
  optionalUnlessBlank,
  requiredText,
  userId,
} from "../platform/http/input";
import { NEVER } from "../lib/time";
import { ALERT_TYPES } from "../whales/coins";
import type { Page } from "./layout";

/** Pages for people. The code that makes HTML is loaded on request. */

type PageResult<Input extends z.ZodType> = Pick<
  Endpoint<Input>,
  "path" | "summary" | "description" | "errors" | "limit" | "guard" | "headers" | "answerHeaders"
> & {
  input: Input;
  /** `GET` when left out. */
  methods?: Endpoint["methods"];
  /** Whether caches may not store it. */
  isPrivate?: boolean;
  /** @param now Epoch ms. */
  show: (ctx: ActionCtx, input: z.output<Input>, now: number, call: Call) => Promise<Page>;
};

function definePage<Input extends z.ZodType>({ show, isPrivate = false, ...described }: PageResult<Input>) {
  return defineEndpoint({
    methods: ["GET"],
    ...described,
    media: "text/html",
    returns: z.string(),
    answerHeaders: {
      "Cache-Control": isPrivate ? "no-store." : "For how long it may be kept: a minute.",
      "Referrer-Policy": "no-referrer.",
      "Content-Security-Policy":
        "Nothing is loaded from elsewhere, and nothing runs but the page's own script.",
      ...described.answerHeaders,
    },
    handler: async (ctx, input, call) => {
      const now = Date.now();
      const result = await show(ctx, input, now, call);
      const { value, headers } = (await import("./layout")).buildPageReply(result, now);
      const kept = isPrivate ? { "Cache-Control": "no-store" } : {};
      return new Reply(value, { ...headers, ...kept, ...result.headers });
    },
  });
}

type Written = Pick<Endpoint, "path" | "summary"> & {
  media: "application/xml" | "application/atom+xml";
  write: (ctx: ActionCtx, now: number) => Promise<string>;
};

function defineWriting({ write, ...described }: Written) {
  return defineEndpoint({
    methods: ["GET"],
    ...described,
    input: z.object({}),
    returns: z.string(),
    handler: async (ctx) =>
      new Reply(await write(ctx, Date.now()), { "Cache-Control": "public, max-age=300" }),
  });
}

export const pageEndpoints: MountedEndpoint[] = [
  defineWriting({
    path: "/signals/feed.xml",
    media: "application/atom+xml",
    summary: "The newest signals as an Atom feed.",
    write: async (ctx, now) => (await import("./feeds")).buildSignalFeed(ctx, now),
  }),
  defineWriting({
    path: "/whales/feed.xml",
    media: "application/atom+xml",
    summary: "The whales of a week as an Atom feed.",
    write: async (ctx, now) => (await import("./feeds")).buildWhaleFeed(ctx, now),
  }),
  defineWriting({
    path: "/sitemap.xml",
    media: "application/xml",
    summary: "The addresses of all pages.",
    write: async (ctx) => (await import("./feeds")).buildSitemap(ctx),
  }),
  defineEndpoint({
    methods: ["GET"],
    path: "/pictures/{name}",
    media: "image/png",
    summary: "The picture of a page, for previews of links to it.",
    description:
      "Drawn once for each state of its subject: an open signal's and a coin's once an hour, the record's with each end, a report's once.",
    errors: { not_found: "There is nothing to draw.", rate_limited: "Too many pictures were drawn." },
    input: z.object({
      name: requiredText(40).describe("BTC-2026-11-20, record, coin-BTC, report-BTC, or report"),
    }),
    returns: z.string(),
    handler: async (ctx, { name }, { caller }) => {
      const { readPreview } = await import("../pictures/previews");
      return new Reply(await readPreview(ctx, name, caller), { "Cache-Control": "public, max-age=3600" });
    },
  }),
  definePage({
    path: "/",
    summary: "Prices, the latest signals, how all did, the last whales, and the largest coins.",
    input: z.object({}),
    show: async (ctx, _input, now) => (await import("./home")).buildHomePage(ctx, now),
  }),
  definePage({
    path: "/start",
    summary: "What this is, what it costs, how to begin, and how to buy a report.",
    input: z.object({}),
    show: async (ctx, _input, now) => (await import("./start")).buildStartPage(ctx, now),
  }),
  definePage({
    path: "/record",
    summary: "The record of the signals: the result, its curve, the signals, and how to verify them.",
    input: z.object({}),
    show: async (ctx) => (await import("./record")).buildRecordPage(ctx),
  }),
  definePage({
    path: "/signals/{id}",
    summary: "One signal, with its levels on the path of the price.",
    errors: { not_found: "There is no such signal." },
    input: z.object({ id: requiredText(40).describe("Token and UTC day, BTC-2026-11-20, in any case") }),
    show: async (ctx, { id }) => (await import("./signal")).buildSignalPage(ctx, id),
  }),
  definePage({
    path: "/research",
    summary:
      "The latest research on a token or the whole market; POST /mcp/research has a newer one written.",
    input: z.object({ token: optionalToken }),
    show: async (ctx, { token }, now) => (await import("./research")).buildResearchPage(ctx, token, now),
  }),
  definePage({
    path: "/coins/{symbol}",
    summary: "One coin: its price and day, figures with their sources, its newest report, signal and whales.",
    errors: { not_found: "Nothing is known of the coin." },
    input: z.object({ symbol: requiredText(60).describe("A symbol or a name, in any case") }),
    show: async (ctx, { symbol }, now) => (await import("./coin")).buildCoinPage(ctx, symbol, now),
  }),
  definePage({
    path: "/whales",
    summary: "Whale alerts, newest first, thirty a page, and the net flow to exchanges by hour.",
    input: z.object({
      token: optionalToken,
      kind: optionalUnlessBlank(z.enum(ALERT_TYPES)).describe("One kind of movement; all when left out."),
      before: optionalUnlessBlank(numberInRange(0, NEVER, "int")).describe("Epoch ms: older ones."),
    }),
    show: async (ctx, filter, now) => (await import("./whales")).buildWhalesPage(ctx, filter, now),
  }),
  definePage({
    path: "/status",
    summary: "What works now, and what has trouble.",
    input: z.object({}),
    show: async (ctx) => (await import("./status")).buildStatusPage(ctx),
  }),
  definePage({
    path: "/me",
    summary: "What an owner's account has; without a session, how to open it.",
    isPrivate: true,
    headers: READS_COOKIE,
    answerHeaders: { Vary: "Cookie." },
    errors: { rate_limited: "Too many looks at the wallets." },
    input: z.object({}),
    show: async (ctx, _input, now, call) => {
      const { buildClosedPage, buildMePage } = await import("./me");
      const opened = await readOpenPage(ctx, call, now);
      const page = opened === null ? buildClosedPage() : await buildMePage(ctx, opened);
      return { ...page, headers: { Vary: "Cookie" } };
    },
  }),
  definePage({
    path: "/me/open",
    summary: "The form that opens the owner's page. This uses nothing up: previews open links, too.",
    isPrivate: true,
    input: z.object({ token: pageToken }),
    show: async (_ctx, { token }) => (await import("./me")).buildOpenPage(token),
  }),
  definePage({
    path: "/me/freeze",
    methods: ["POST"],
    summary: "Freezes the account of the page, which closes.",
    isPrivate: true,
    guard: refuseOtherSites,
    headers: READS_COOKIE,
    answerHeaders: SETS_COOKIE,
    errors: { ...FROM_ELSEWHERE, conflict: "The page has closed, or the form is not that of the page." },
    input: z.object({ form: pageToken }),
    show: async (ctx, { form }, _now, call) => {
      await freezeFromPage(ctx, call, form);
      return { ...(await import("./me")).buildFrozenPage(), headers: FORGET };
    },
  }),
  definePage({
    path: "/claim/end",
    summary: "A form for the userId whose pending claim should end.",
    description:
      "While a claim of a `userId` with a wallet is pending, every answer to the `userId` has `claimPending` (when it takes effect) and `claimEndUrl` (this address). Opening the page ends nothing.",
    isPrivate: true,
    input: z.object({}),
    show: async () => (await import("./me")).buildClaimPage(),
  }),
  definePage({
    path: "/claim/end",
    methods: ["POST"],
    limit: "settings",
    summary: "Ends the pending claim of a userId, which stays without an owner.",
    description:
      "The form of the page before it, or a JSON body. Knowing the `userId` is enough to end a claim; for a week after it, no new claim is accepted.",
    errors: { not_found: "This userId has no pending claim." },
    isPrivate: true,
    input: z.object({ id: userId.describe("The userId with the pending claim") }),
    show: async (ctx, { id }) => {
      await ctx.runMutation(internal.accounts.claims.endClaim, { name: id });
      return (await import("./me")).buildEndedPage(id);
    },
  }),
];
