import * as z from "zod";
import type { ActionCtx } from "../_generated/server";
import { endpoint, type Endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { optionalToken, text } from "../lib/http/input";
import { readStatus } from "../ops/http";
import { signalToken } from "../signals/shapes";
import { hoursOr } from "../whales/shapes";
import type { Page } from "./layout";

/** Pages for people. The code that makes HTML is loaded when a page is asked for. */

type Shown<Input extends z.ZodType> = Pick<Endpoint<Input>, "path" | "summary" | "description" | "errors"> & {
  input: Input;
  /** @param now Epoch ms. */
  show: (ctx: ActionCtx, input: z.output<Input>, now: number) => Promise<Page>;
};

function page<Input extends z.ZodType>({ show, ...described }: Shown<Input>): MountedEndpoint {
  return endpoint({
    ...described,
    methods: ["GET"],
    media: "text/html",
    returns: z.string(),
    answerHeaders: {
      "Cache-Control": "For how long it may be kept: a minute.",
      "Referrer-Policy": "no-referrer.",
      "Content-Security-Policy": "Nothing is loaded from anywhere, and nothing runs.",
    },
    handler: async (ctx, input) => {
      const now = Date.now();
      const shown = await show(ctx, input, now);
      return (await import("./layout")).pageReply(shown, now);
    },
  });
}

const data = () => import("./data");

const home = page({
  path: "/",
  summary: "The day's prices and signals, how all signals did, the last whales and the market.",
  description: "It asks nobody for a newer market, and leaves out one that is older than an hour.",
  input: z.object({}),
  show: async (ctx, _input, now) => {
    const { homePage } = await import("./home");
    return homePage(await (await data()).readHome(ctx), now);
  },
});

const start = page({
  path: "/start",
  summary: "What this is, what it costs, how to begin, and how to buy a report.",
  input: z.object({}),
  show: async (ctx, _input, now) => {
    const { startPage } = await import("./start");
    return startPage((await (await data()).readResearch(ctx, undefined)).snapshot, now);
  },
});

const record = page({
  path: "/record",
  summary:
    "The record of the signals: the result in a sentence, its curve, the signals, and how to verify them.",
  description: "The statistics are those of /mcp/signals/history, of one token or of both.",
  input: z.object({ token: signalToken }),
  show: async (ctx, { token }) => {
    const { recordPage } = await import("./record");
    return recordPage(await (await data()).readRecord(ctx, token ?? null));
  },
});

const signal = page({
  path: "/signals/{id}",
  summary: "One signal, with its levels on the path of the price.",
  description:
    "Each price says who gave it. The path has a point every five minutes for a week, later one an hour.",
  errors: { not_found: "There is no such signal." },
  input: z.object({ id: text(40).describe("Token and UTC day, BTC-2026-11-20, in any case") }),
  show: async (ctx, { id }) => {
    const { signalPage } = await import("./signal");
    return signalPage(await (await data()).readSignal(ctx, id));
  },
});

const research = page({
  path: "/research",
  summary:
    "The latest research on a token, or on the whole market: what was measured, and what a model said.",
  description: "Looking has nothing written: for a newer one, ask POST /mcp/research.",
  input: z.object({ token: optionalToken }),
  show: async (ctx, { token }, now) => {
    const { researchPage } = await import("./research");
    return researchPage(await (await data()).readResearch(ctx, token), now);
  },
});

const whales = page({
  path: "/whales",
  summary: "Whale alerts, newest first: the newest hundred of /mcp/whale-alerts.",
  input: z.object({ hours: hoursOr(24) }),
  show: async (ctx, { hours }, now) => {
    const { whalesPage } = await import("./whales");
    return whalesPage(await (await data()).readWhales(ctx, hours), hours, now);
  },
});

const status = page({
  path: "/status",
  summary: "What works now, and what has trouble.",
  input: z.object({}),
  show: async (ctx) => (await import("./status")).statusPage(await readStatus(ctx)),
});

export const pageEndpoints: MountedEndpoint[] = [home, start, record, signal, research, whales, status];
