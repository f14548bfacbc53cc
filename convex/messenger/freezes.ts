import type { MutationCtx } from "../_generated/server";
import { recordAudit } from "../lib/records/audit";
import { changeRules, levelRowOf, settingAt } from "../users/levels";
import type { Paragraph } from "./format";
import { tellEverywhere } from "./notices";

/**
 * Stops everything that would be signed for an account's wallets, calls off what would loosen its rules, and tells it.
 * @param from By which way it was said.
 * @returns Whether it was not frozen before.
 */
export async function freezeAccount(
  ctx: MutationCtx,
  userId: string,
  from: "chat" | "token",
): Promise<boolean> {
  const row = await levelRowOf(ctx, userId);
  if (row?.frozenAt !== undefined) return false;
  const now = Date.now();
  await changeRules(ctx, userId, { setting: settingAt(row, now), next: undefined, frozenAt: now });
  await recordAudit(ctx, { actor: userId, action: "account frozen", subject: from });
  await tellEverywhere(ctx, { userId, kind: "level", paragraphs: CARD });
  return true;
}

const CARD: Paragraph[] = [
  [{ bold: "🧊 Your account is frozen" }],
  [
    "Nothing is signed for its wallets from now on, whoever asks. What was handed to the chain before may still be mined. You end it signed in, in the web application (account/freezes:unfreeze).",
  ],
];
