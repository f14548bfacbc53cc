import { onTestFinished, expect, test } from "vitest";
import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import * as z from "zod";
import { DEV_MNEMONIC } from "../../scripts/chain/addresses";
import { startStack } from "../../scripts/stack/stack";
import { buildProxy } from "../proxy/support";
import { ran } from "../stack/processes";

/** The contract, row by row, as a client meets it that has read nothing else and calls itself `alice`. */

const outcomes = z.array(z.object({ row: z.string(), outcome: z.string(), why: z.string().nullable() }));

test("no row of the contract differs for a client that has read nothing else", async () => {
  const stack = await startStack({ speed: 10, ephemeral: true, seed: "contract" });
  onTestFinished(() => stack.stop());
  const proxy = await buildProxy();
  onTestFinished(() => proxy.remove());
  const { stdout } = await ran("scripts/accept/main.ts", [
    stack.siteUrl,
    "--json",
    ...["--proxy", proxy.file],
    ...["--api", stack.apiUrl, "--token", await stack.issuer.issue("bob")],
    ...["--spend", "--key", payerKey(), "--rpc", stack.chain?.url ?? ""],
  ]);
  const walked = outcomes.parse(JSON.parse(stdout));
  expect(walked.filter(({ outcome }) => outcome !== "holds")).toEqual([]);
  expect(walked.length).toBeGreaterThan(30);
});

/** The key of the local chain's account 0. */
function payerKey(): string {
  const { privateKey } = mnemonicToAccount(DEV_MNEMONIC).getHdKey();
  if (privateKey === null) throw new Error("The developer's account has no key");
  return toHex(privateKey);
}
