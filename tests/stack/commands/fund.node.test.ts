import { formatUnits, type Address } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../../scripts/chain";
import { DECIMALS, type TokenSymbol } from "../../../scripts/chain/addresses";
import { clientOf, startTestChain, balanceOf } from "../../chain/support";
import { ranHere } from "../../support/commands";
import type { Ended } from "../processes";

let chain: Chain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());

const FIRST: Address = "0x5555555555555555555555555555555555555555";

function fund(args: string[], CHAIN_PORT = new URL(chain.url).port): Promise<Ended> {
  return ranHere("scripts/stack/fund.ts", args, { env: { CHAIN_PORT } });
}

async function held(owner: Address): Promise<Record<string, string>> {
  const client = clientOf(chain);
  const amounts: Record<string, string> = {
    ETH: formatUnits(await client.getBalance({ address: owner }), 18),
  };
  for (const symbol of ["USDC", "DAI", "USDT", "WETH"] as const satisfies readonly TokenSymbol[]) {
    const units = await balanceOf(chain, chain.addresses.tokens[symbol], owner);
    amounts[symbol] = formatUnits(units, DECIMALS[symbol]);
  }
  return amounts;
}

test("sends the amounts from the developer's account, by real transfers", async () => {
  const { code, stdout, stderr } = await fund([FIRST]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(
    /^To 0x5{40} on \S+\n {2}1 ETH 0x\w{64}\n {2}1000 USDC 0x\w{64}\n {2}100 DAI 0x\w{64}\n {2}100 USDT 0x\w{64}\n {2}0\.5 WETH 0x\w{64}\n$/,
  );
  expect(await held(FIRST)).toEqual({ ETH: "1", USDC: "1000", DAI: "100", USDT: "100", WETH: "0.5" });
  const [developer = FIRST] = chain.accounts;
  expect(await held(developer)).toMatchObject({ USDC: "999000", WETH: "999999.5" });
});

test.each([
  [["0x12"], /not 0x12/],
  [["0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96046"], /capital letters/],
  [[`0x${"0".repeat(40)}`], /Name one address/],
])("%j is refused", async (args, expected) => {
  expect(await fund(args)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(expected) });
});

test("without a chain it says so in one line", async () => {
  const { code, stderr } = await fund([FIRST], "9");
  expect([code, stderr]).toEqual([
    1,
    "There is no local chain at http://127.0.0.1:9: start it with npm start, or set CHAIN_PORT to its port.\n",
  ]);
});
