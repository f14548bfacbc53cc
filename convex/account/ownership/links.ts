import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { optional, required } from "../../lib/env";
import { isGuessable } from "../../lib/records/ids";
import { masterKey, subkey } from "../../lib/security/crypto";
import { literals } from "../../lib/literals";
import { DAY, dateTime } from "../../lib/time";
import { codeHash, dailyCode } from "../../messenger/codes";
import { codeByHash } from "../../messenger/model";
import { messengerLogin, ownerOf } from "../../users/model";
import { pseudonymOf } from "../../lib/security/pseudonyms";
import { hashed } from "../../users/names";
import { walletOf } from "../../wallets/model";
import { reasonOf } from "../../lib/text/failures";
import { claimFor, refusalOf } from "./binding";

/**
 * Owning a `userId` without the web application: a link opens the service's bot with a code, and the account that taps
 * there becomes the owner. As with a claim, the first who knows the id can become its owner.
 */

/** Precedes the code in the link's `start` parameter. */
const PREFIX = "own_";

/**
 * The link for a `userId` without an owner, the same all day and valid for one to two days; `null` if it has an owner, or
 * the operator has not named the bot (`MESSENGER_BOT_NAME`).
 * @param args.named The id as its user knows it. No row stores it in clear until there is an owner, who keeps it.
 */
export const open = internalMutation({
  args: { userId: v.string(), named: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { userId, named }) => {
    const bot = optional("MESSENGER_BOT_NAME");
    if (bot === undefined || (await ownerOf(ctx, userId)) !== null) return null;
    const day = Math.floor(Date.now() / DAY);
    const code = dailyCode("owner link", userId, day);
    const maskedName = bytesToHex(masked(utf8ToBytes(named), code));
    const known = { kind: "owner", userId, codeHash: codeHash(code) } as const;
    if ((await codeByHash(ctx, known.kind, known.codeHash)) === null)
      await ctx.db.insert("codes", { ...known, maskedName, expiresAt: (day + 2) * DAY });
    return `https://t.me/${bot}?start=${PREFIX}${code}`;
  },
});

const vOffer = v.object({
  /** The custody wallet's address; `null` if there is none. */
  address: v.union(v.string(), v.null()),
  pseudonym: v.string(),
  /** The id could be guessed, so owning it waits. */
  isWeak: v.boolean(),
});

/** What the bot asks an account that has followed a link; or a refusal in words. */
export const offer = internalQuery({
  args: { code: v.string(), messengerId: v.string(), now: v.number() },
  returns: v.union(vOffer, v.object({ refusal: v.string() })),
  handler: async (ctx, request): Promise<Infer<typeof vOffer> | { refusal: string }> => {
    const found = await ownable(ctx, request);
    if ("refusal" in found) return found;
    const { userId } = found;
    const address = (await walletOf(ctx, userId, "custody"))?.address ?? null;
    return { address, pseudonym: pseudonymOf(userId), isWeak: isGuessable(userId) };
  },
});

/**
 * The tap makes the account the owner; if the id could be guessed, after 48 hours in which it can be contested.
 * @returns What the bot answers.
 */
export const own = internalMutation({
  args: { code: v.string(), messengerId: v.string() },
  returns: v.object({ head: literals("Owned", "Not yours yet", "Not yours"), words: v.string() }),
  handler: async (ctx, request) => {
    const found = await ownable(ctx, { ...request, now: Date.now() });
    if ("refusal" in found) return { head: "Not yours" as const, words: found.refusal };
    const { userId, maskedName } = found;
    const tokenIdentifier = messengerLogin(request.messengerId);
    const name = new TextDecoder().decode(masked(hexToBytes(maskedName ?? ""), request.code));
    // A name that was masked under another key says nothing; then the owner knows the account by its own.
    const shown = hashed(name) === userId ? name : userId;
    const { pendingUntil } = await claimFor(ctx, { userId, tokenIdentifier, keep: [] }, shown);
    if (pendingUntil !== null)
      return {
        head: "Not yours yet" as const,
        words: `This account id could be guessed, so it is yours from ${dateTime(pendingUntil)}, unless somebody contests it before. Until then it stays under the caps of ids without an owner.`,
      };
    return { head: "Owned" as const, words: OWNED };
  },
});

const OWNED =
  "It is yours. From now on, whoever only knows the account id moves none of its money, and changes nothing about where its cards go, without your tap here.";

async function ownable(
  ctx: QueryCtx | MutationCtx,
  { code, messengerId, now }: { code: string; messengerId: string; now: number },
): Promise<Pick<Doc<"codes">, "userId" | "maskedName"> | { refusal: string }> {
  const row = await codeByHash(ctx, "owner", codeHash(code));
  if (row === null || row.expiresAt <= now)
    return { refusal: "This link is no longer valid: connect the wallet again for a new one." };
  const refusal = await refusalOf(ctx, messengerLogin(messengerId), row.userId);
  return refusal === null ? row : { refusal: reasonOf({ code: "conflict", message: refusal }) };
}

/** Masks a name, or unmasks it. The key needs both the deployment's key and the code, which no row stores. */
function masked(name: Uint8Array, code: string): Uint8Array {
  const key = subkey(masterKey(required("WALLET_ENCRYPTION_KEY")), `owner link name ${code}`);
  const mask = hkdf(sha256, key, undefined, undefined, Math.max(1, name.length));
  return name.map((byte, at) => byte ^ (mask[at] ?? 0));
}
