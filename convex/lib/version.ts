/** The name of the service. */
export const TITLE = "Market research, signals and wallets";
/** Its name among programs, as the package of the proxy has it. */
export const NAME = "market-research-signals-wallets";
/** The service's version, as `package.json` has it. */
export const VERSION = "0.1.0";
/** The path of the tools for AI clients on a deployment. */
export const TOOLS_PATH = "/mcp";
/** The path of the program for clients that start one. */
export const PROXY_PATH = "/proxy.mjs";
