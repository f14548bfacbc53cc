/**
 * Patience with work on a machine of any speed: it ends when nothing changes any more, and never by the time that the whole
 * takes.
 * @param limitMs How long the work may stand still. @param now The time in ms.
 * @returns Called with the state of the work: whether it may still be waited for.
 */
export function createPatience(limitMs: number, now: () => number): (progress: string) => boolean {
  let last = { progress: "", at: now() };
  return (progress) => {
    if (progress !== last.progress) last = { progress, at: now() };
    return now() - last.at <= limitMs;
  };
}
