import { internal } from "../_generated/api";
import { defineWorker } from "../platform/worker";
import { readAccount } from "../providers/chain/accounts";
import { requireStoredAddress } from "../wallets/model";
import { toSwapAddress } from "../wallets/tokens";
import { vWatched } from "./arrivals";

/** One look at a watched wallet: what it holds of ETH and USDC. */
export const lookAtWallet = defineWorker(vWatched, async (ctx, watched) => {
  const { native, tokens } = await readAccount(
    requireStoredAddress(watched.address),
    [toSwapAddress("USDC")],
    [],
  );
  const held = { ETH: native.toString(), USDC: (tokens[0] ?? 0n).toString() };
  await ctx.runMutation(internal.bot.arrivals.storeLook, { ...watched, ...held });
});
