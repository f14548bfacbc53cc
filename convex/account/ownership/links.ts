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
import { hashed, keepName } from "../../users/names";
import { walletOf } from "../../wallets/model";
import { openClaim } from "./openClaims";
import { reasonOf } from "../../lib/text/failures";
import { bind, refusalOf } from "./binding";

/**
 * Owning a `userId` without a web application: a link starts the service's bot with a code, and the account that taps there
 * becomes the owner. Whoever knows an id that nobody owns may, once, first come, as with a claim.
 */

/** Before the code in the link's `start` parameter. */
const PREFIX = "own_";

/**
 * The link for a `userId` that nobody owns, good for one to two days and the same all day; `null` where it has an owner, or
 * the operator has not named the bot (`MESSENGER_BOT_NAME`).
 * @param args.named The id as its user knows it, which the owner is to go by: no row keeps it before there is one.
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
  /** Of the wallet that would be owned; `null` where there is none. */
  address: v.union(v.string(), v.null()),
  pseudonym: v.string(),
  /** Epoch ms: until when the owning of an id that could be guessed would wait. */
  isWeak: v.boolean(),
});

/** What an account is asked that has followed a link; a refusal in words. */
export const offer = internalQuery({
  args: { code: v.string(), messengerId: v.string(), now: v.number() },
  returns: v.union(vOffer, v.object({ refusal: v.string() })),
  handler: async (ctx, asked): Promise<Infer<typeof vOffer> | { refusal: string }> => {
    const found = await ownable(ctx, asked);
    if ("refusal" in found) return found;
    const { userId } = found;
    const address = (await walletOf(ctx, userId, "custody"))?.address ?? null;
    return { address, pseudonym: pseudonymOf(userId), isWeak: isGuessable(userId) };
  },
});

/**
 * The tap: makes the account the owner; of an id that could be guessed, after 48 hours in which it can be contested.
 * @returns What to tell the account.
 */
export const own = internalMutation({
  args: { code: v.string(), messengerId: v.string() },
  returns: v.object({ head: literals("Owned", "Not yours yet", "Not yours"), words: v.string() }),
  handler: async (ctx, asked) => {
    const found = await ownable(ctx, { ...asked, now: Date.now() });
    if ("refusal" in found) return { head: "Not yours" as const, words: found.refusal };
    const { userId, maskedName } = found;
    const tokenIdentifier = messengerLogin(asked.messengerId);
    if (isGuessable(userId) && (await walletOf(ctx, userId, "custody")) !== null) {
      const dueAt = await openClaim(ctx, { userId, tokenIdentifier, keep: [] });
      return {
        head: "Not yours yet" as const,
        words: `This account id could be guessed, so it is yours from ${dateTime(dueAt)}, unless somebody contests it before. Until then it stays under the caps of ids without an owner.`,
      };
    }
    const name = new TextDecoder().decode(masked(hexToBytes(maskedName ?? ""), asked.code));
    // One that was masked under another key says nothing; then the account's own name is the owner's.
    if (hashed(name) === userId) await keepName(ctx, userId, name);
    await bind(ctx, tokenIdentifier, userId, []);
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
    return { refusal: "This link is not good any more: connect the wallet again for a new one." };
  const refusal = await refusalOf(ctx, messengerLogin(messengerId), row.userId);
  return refusal === null ? row : { refusal: reasonOf({ code: "conflict", message: refusal }) };
}

/** A name, or back: under a key that takes both the deployment's and the code, which stands in no row. */
function masked(name: Uint8Array, code: string): Uint8Array {
  const key = subkey(masterKey(required("WALLET_ENCRYPTION_KEY")), `owner link name ${code}`);
  const mask = hkdf(sha256, key, undefined, undefined, Math.max(1, name.length));
  return name.map((byte, at) => byte ^ (mask[at] ?? 0));
}
