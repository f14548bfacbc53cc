/** The chain that the service runs on: Base. */
export const CHAIN_ID = 8453;

/** The contract of USDC on Base, checksummed: clients compare it with their own tables letter by letter. */
export const USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";

/** The most that one transaction may pay for gas and its L1 data, in wei: 0.02 ETH. */
export const MOST_FEE = 20_000_000_000_000_000n;
