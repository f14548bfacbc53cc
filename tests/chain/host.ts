import { startTestChain } from "./support";

/** A host of a chain, to be killed: prints the chain's address, then does nothing. */
const chain = await startTestChain({ stateFile: process.argv[2] ?? null });
await chain.fund("0x2222222222222222222222222222222222222222", { USDC: 42n });
console.log(chain.url);
