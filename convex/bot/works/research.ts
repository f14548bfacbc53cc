import { internal } from "../../_generated/api";
import { required, siteUrl } from "../../lib/env";
import { failureOfAttempt } from "../../lib/refreshes";
import type { Ticket } from "../../lib/tables";
import { MINUTE } from "../../lib/time";
import { focusOf } from "../../market/sources/listing";
import { snapshotCard } from "../../research/reports/cards";
import { researchButtons } from "../commands/research";
import { answerOf, type Workers } from "./work";

/** The bot's work on research. */

/** On-demand results are fresh for this long. */
const FRESH_MS = 15 * MINUTE;

export const researchWorkers: Workers<"research"> = {
  /** The stored result while it is fresh; otherwise it is made, and each further step joins the work under way. */
  research: async (ctx, { sender, userId, work }) => {
    const whose = userId ?? `messenger:${sender.messengerId}`;
    const caller = { userId: whose, address: null, signedIn: userId !== undefined };
    const focus = await focusOf(ctx, work.focus === "" ? undefined : work.focus, caller);
    const stored = await ctx.runQuery(internal.research.results.current, { focus });
    if (stored !== null && Date.now() - stored.fetchedAt < FRESH_MS) {
      const { result, fetchedAt } = stored;
      const token = focus === "" ? null : focus;
      const card = answerOf(snapshotCard({ token, generatedAt: fetchedAt, result }, siteUrl()));
      return { ...card, buttons: researchButtons(focus) };
    }
    required("LLM_GATEWAY_API_KEY");
    const ticket: Ticket = await ctx.runMutation(internal.research.results.begin, { focus, caller });
    const outcome = await ctx.runQuery(internal.lib.refreshes.outcome, ticket);
    if (outcome.state === "failed") throw failureOfAttempt(outcome);
    return { kind: "wait" };
  },
};
