import { readFile } from "node:fs/promises";
import path from "node:path";
import * as z from "zod";
import { hexShape } from "./rpc";

/** The compiled contracts, as `build.ts` writes them. */

export const CONTRACTS = [
  "Permit2",
  "Multicall3",
  "Usdc",
  "Usdt",
  "Dai",
  "Weth",
  "Feed",
  "Pool",
  "Settler",
  "Registry",
] as const;
export type ContractName = (typeof CONTRACTS)[number];

const artifactShape = z.object({
  abi: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })),
  /** The contract's creation code, to be followed by the constructor's arguments. */
  init: hexShape,
});
export type Artifact = z.infer<typeof artifactShape>;

export async function readArtifact(name: ContractName): Promise<Artifact> {
  const text = await readFile(path.join(import.meta.dirname, "artifacts", `${name}.json`), "utf8");
  return artifactShape.parse(JSON.parse(text));
}
