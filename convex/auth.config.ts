import type { AuthConfig } from "convex/server";

/**
 * Whose tokens the web application's users come with. Read at every push, so both must be set before the first one;
 * the defaults stand for "nobody".
 */
export default {
  providers: [
    {
      // oxlint-disable-next-line @convex-dev/no-process-env -- the typed env is not there at push
      domain: process.env.AUTH_ISSUER ?? "https://auth.invalid",
      // oxlint-disable-next-line @convex-dev/no-process-env -- the typed env is not there at push
      applicationID: process.env.AUTH_APPLICATION_ID ?? "unset",
    },
  ],
} satisfies AuthConfig;
