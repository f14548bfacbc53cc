import { expect } from "vitest";
import { linkedUser, SECRET, test } from "../bot/support";
import type { App } from "../support/app";

/** How often an owner is asked by whoever knows their `userId` and shows nothing else. */

const [MINUTE, HOUR] = [60_000, 3_600_000];

test.override({ settings: { env: { MESSENGER_WEBHOOK_SECRET: SECRET } } });

const later = (app: App, ms: number) => app.pass(ms, { cronsRun: false });
