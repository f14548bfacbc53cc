import { flood } from "../hostile/requests/flood";
import { chain, useChain } from "../support/chain/chain";

/** The whole flood: 9,500 requests. */

useChain();

flood({ seed: Number(process.env["LONG_SEED"] ?? 20_260_105), batches: 16, each: 500, chain: () => chain });
