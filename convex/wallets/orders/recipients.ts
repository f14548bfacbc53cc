import type { QueryCtx } from "../../_generated/server";
import { allListed, listedOf } from "../limits/allowlist";
import { walletOf } from "../model";
import { openOf } from "./approvals";
import type { Wish } from "./tables";

/** What an owner's card says about a recipient: nothing that others could have influenced. */
export type Recipient =
  | { kind: "own"; wallet: "basic" | "custody" }
  /** Epoch ms. */
  | { kind: "listed"; since: number }
  /** `countsFrom`: for one that is on the list and does not count yet. */
  | { kind: "new"; countsFrom: number | null; looksLike: { address: string; what: string } | null };

/** `null` for wishes that send nothing. */
export async function recipientOf(
  ctx: QueryCtx,
  userId: string,
  wish: Wish,
  now: number,
): Promise<Recipient | null> {
  if (wish.kind !== "order" || wish.request.kind !== "send") return null;
  const to = wish.request.toAddress;
  const wallets = await Promise.all(
    (["basic", "custody"] as const).map((kind) => walletOf(ctx, userId, kind)),
  );
  const own = wallets.find((wallet) => wallet?.address === to);
  if (own?.kind === "basic" || own?.kind === "custody") return { kind: "own", wallet: own.kind };
  const listed = await listedOf(ctx, userId, to);
  if (listed !== null && listed.countsFrom <= now) return { kind: "listed", since: listed.countsFrom };
  const asked = (await openOf(ctx, userId, now)).flatMap(({ wish: { kind, ...open } }) =>
    kind === "order" && "request" in open && open.request.kind === "send" ? [open.request.toAddress] : [],
  );
  const known = [
    ...(await allListed(ctx, userId)).map(({ address }) => ({ address, what: "which is on your list" })),
    ...wallets.flatMap((wallet) =>
      wallet === null ? [] : [{ address: wallet.address, what: `your own ${wallet.kind} wallet` }],
    ),
    // A question about a look-alike must not cast doubt on an address that the owner knows.
    ...(listed === null ? asked : []).map((address) => ({
      address,
      what: "about which you are asked already",
    })),
  ];
  const alike = known.find(({ address }) => address !== to && ends(address) === ends(to));
  return { kind: "new", countsFrom: listed?.countsFrom ?? null, looksLike: alike ?? null };
}

/** The characters of an address that people compare. */
function ends(address: string): string {
  const digits = address.slice(2).toLowerCase();
  return digits.slice(0, 4) + digits.slice(-4);
}
