import { describe, expect, test } from "vitest";
import { applicationVariables, realProviders, type Variables } from "../../scripts/stack/env";
import { freshKeys } from "../../scripts/stack/keys";

/** Which variables the application sees, by what the operator has set. */

const local = {
  CHAIN_RPC_URL: "http://chain.local",
  TICKER_API_URL: "http://standins.local/tickers",
  SWAP_API_URL: "http://standins.local/swap-api",
  SWAP_API_KEY: "simulated",
};

async function seen(settings: Variables): Promise<Variables> {
  const urls = { siteUrl: "http://site.local", apiUrl: "http://api.local" };
  return applicationVariables(settings, { local, payments: {}, keys: await freshKeys(), ...urls });
}

describe("the tickers", () => {
  test("are the stand-in where the chain is the stack's own", async () => {
    expect(realProviders({})).toEqual([]);
    expect(await seen({})).toMatchObject({ TICKER_API_URL: local.TICKER_API_URL });
  });

  test("are the operator's where an address of theirs is set", async () => {
    const settings = { TICKER_API_URL: "https://tickers.example" };
    expect(realProviders(settings)).toEqual(["tickers"]);
    expect(await seen(settings)).toMatchObject({ ...settings, CHAIN_RPC_URL: local.CHAIN_RPC_URL });
  });

  test("are the public ones beside a real chain: simulated prices would contradict its feeds", async () => {
    const variables = await seen({ CHAIN_RPC_URL: "https://rpc.example" });
    expect(variables).toMatchObject({ CHAIN_RPC_URL: "https://rpc.example" });
    expect([variables.TICKER_API_URL, variables.SWAP_API_KEY]).toEqual([undefined, undefined]);
  });
});
