import { real } from "../../scripts/real";
import { readRows, restoreRows } from "../../scripts/stack/application";
import type { WalletApp } from "./chain/walletApp";
import { intercept, silence } from "./outside";

/** The service dies at one of its calls to the outside; and what happens then. */

export type Moment = "before" | "after";

/** How much time passes between two runs of the crons. */
const LOOKS = 10;
const LOOK_MS = 5;

/** From the n-th outside call on nothing answers: the process is gone. It dies before the call leaves, or after its effect. */
export function dieAt(n: number, moment: Moment): { dead: Promise<true>; revive: () => void } {
  let calls = 0;
  let die = (_: true) => {};
  const dead = new Promise<true>((resolve) => (die = resolve));
  const revive = intercept(async (_call, pass) => {
    const call = ++calls;
    if (call === n && moment === "after") await pass();
    if (call === n) die(true);
    return call >= n ? silence() : pass();
  });
  return { dead, revive };
}

/** What runs has come to a call that nobody answers. */
async function allHang(app: WalletApp): Promise<void> {
  const running = async () => (await app.listRunning()).map(({ _id }) => _id).join();
  for (let [calm, last] = [0, ""]; calm < 5;) {
    await new Promise((resolve) => real.setTimeout(resolve, 40));
    const now = await running();
    calm = now === last ? calm + 1 : 0;
    last = now;
  }
}

/** Another process that begins with the rows of this one, as a snapshot has them: what was running is lost. */
export async function restart(app: WalletApp, create: () => WalletApp): Promise<WalletApp> {
  await allHang(app);
  // No mutation is running: what has begun waits for answers.
  const rows = await readRows(app.t, () => Promise.resolve(false));
  app.end();
  const next = create();
  await restoreRows(next.t, rows);
  return next;
}

/** Runs the crons again and again, until all has ended. */
export async function cronsComeBy(crons: () => Promise<void>, ended: () => Promise<boolean>): Promise<void> {
  for (;;) {
    await crons();
    for (let look = 0; look < LOOKS; look++) {
      if (await ended()) return;
      await new Promise((resolve) => real.setTimeout(resolve, LOOK_MS));
    }
  }
}
