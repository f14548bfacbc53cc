import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { takeNoted } from "../../lib/outside/notes";
import { worker } from "../../lib/work/desk";
import { isReachable, sendMessage, sendPhoto } from "../../providers/messenger";
import type { Step } from "./states";
import { plainText } from "../format";
import type { Try } from "./outbox";
import { routeOf } from "./routes";
import type { Picture } from "../tables";

/** Delivers one card: claims it, sends part after part, and stores the outcome of each. */
export const deliver = worker({ messageId: v.id("messages") }, async (ctx, work) => {
  let next = await ctx.runMutation(internal.messenger.delivery.outbox.claim, work);
  while (next !== null) {
    const step = await stepOf(ctx, next);
    next = await ctx.runMutation(internal.messenger.delivery.outbox.mark, {
      ...work,
      step,
      noted: takeNoted(),
    });
  }
});

/** Sends the next part, if there is a route and nothing forbids it. */
async function stepOf(ctx: ActionCtx, next: Try): Promise<Step> {
  const { keyboard, edits, plain, picture } = next;
  const route = await routeOf(next);
  if (route.kind === "closed") return route;
  if (next.doubtful && !(await isReachable(route.botToken))) return { kind: "unreachable" };
  const text = plain ? plainText(next.part) : next.part;
  const to = { chatId: route.chatId, html: !plain, keyboard };
  if (picture === null) return sendMessage(route.botToken, { ...to, text, edits });
  const png = await drawingOf(ctx, picture);
  return png === null ? { kind: "undrawn" } : sendPhoto(route.botToken, { ...to, png, caption: text, edits });
}

/** The picture; `null` if there is nothing to draw, or drawing failed. */
async function drawingOf(ctx: ActionCtx, { handle, subject }: Picture): Promise<ArrayBuffer | null> {
  const drawing = handle as FunctionHandle<"action", { subject: string }, ArrayBuffer | null>;
  try {
    return await ctx.runAction(drawing, { subject });
  } catch (error) {
    log.error("messenger.undrawn", { error: messageOf(error) });
    return null;
  }
}
