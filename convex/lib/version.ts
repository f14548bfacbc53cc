/** What the service is called. */
export const TITLE = "Market research, signals and wallets";
/** The service's version, as `package.json` has it. */
export const VERSION = "0.1.0";
/** Where a deployment has the program that AI clients start. */
export const PROXY_PATH = "/proxy.mjs";
