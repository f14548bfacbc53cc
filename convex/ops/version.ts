/** What the service is called. */
export const TITLE = "Market research, signals and wallets";
/** The service's version, as `package.json` has it. */
export const VERSION = "0.1.0";
