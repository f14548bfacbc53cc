import type { QueryCtx } from "../../_generated/server";
import { dollars } from "../../lib/text/strings";
import { DAY } from "../../lib/time";
import type { Paragraph } from "../../messenger/format";
import { latestSignals } from "../record/model";
import { TOKENS } from "../trade/rules";

const ENDINGS = { PENDING: "open", WIN: "won", LOSS: "lost", EXPIRED: "expired" } as const;

/** The part of a user's daily digest that is about signals. */
export async function signalsDigest(ctx: QueryCtx, now: number): Promise<Paragraph> {
  const signals = (await latestSignals(ctx, TOKENS)).filter(({ generatedAt }) => now - generatedAt < DAY);
  if (signals.length === 0) return [{ bold: "Signals" }, "\nnone in the last 24 hours"];
  const lines = signals.map(
    ({ token, signal, entry, status }) => `\n${token} ${signal} at ${dollars(entry)}, ${ENDINGS[status]}`,
  );
  return [{ bold: "Signals" }, ...lines];
}
