/**
 * Preloaded into the proxy's process: timers of up to five seconds are due at once, longer ones never. What a test sees
 * then tells which timer it was, and nobody waits.
 */
const LONGEST_MS = 5_000;
const due = (ms = 0) => (ms > LONGEST_MS ? 2 ** 31 - 1 : 1);
const { setTimeout: after, setInterval: every } = globalThis;
Object.assign(globalThis, {
  setTimeout: (work, ms, ...args) => after(work, due(ms), ...args),
  setInterval: (work, ms, ...args) => every(work, due(ms), ...args),
});
