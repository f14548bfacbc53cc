import type { Doc } from "../_generated/dataModel";
import { formatPercent } from "../lib/text/numbers";
import { formatDateTime, HOUR, MINUTE } from "../lib/time";
import { linkCitations, type Button, type Paragraph } from "../messenger/format";
import { getFocusName, describeMissing, REPORTS } from "./model";
import type { ResearchResult } from "./tables";
import { MARKS } from "./writing/result";

/** The button below the start notice of a shift: it stops only that shift. */
export function buildStopButton(jobId: string, token: string): Button {
  return { text: `Stop ${getFocusName(token)}`, command: `stop ${jobId}` };
}

type Shift = Pick<Doc<"shifts">, "token" | "startedAt">;

export function buildStartCard({ token, startedAt }: Shift): Paragraph[] {
  return [
    [{ bold: "🔬 Research shift started" }, `\n${formatDateTime(startedAt)}`],
    [`Tracking: `, { bold: getFocusName(token) }],
    ["Duration: 8 hours\nData collection: every 30 minutes\nReports: at 2.5h, 5h and 8h"],
  ];
}

export function buildReportCard(
  { token, startedAt }: Shift,
  { kind, generatedAt, result }: Pick<Doc<"reports">, "kind" | "generatedAt"> & { result: ResearchResult },
): Paragraph[] {
  const { title, dueAfterMs } = REPORTS[kind];
  const elapsed = formatHoursAndMinutes(generatedAt - startedAt);
  return [
    [
      { bold: `${kind === "final" ? "🏁" : "📊"} ${title} · ${getFocusName(token)}` },
      `\n${dueAfterMs / HOUR}h checkpoint · ${elapsed} elapsed · ${formatDateTime(generatedAt)}`,
    ],
    ...listResultParagraphs(result),
  ];
}

function listResultParagraphs(result: ResearchResult): Paragraph[] {
  return [
    [`${MARKS[result.marketOutlook]} Outlook: `, { bold: result.marketOutlook }],
    [result.shortSummary],
    [{ bold: "Key signals" }, ...result.impacts.flatMap((impact) => formatImpact(impact, result))],
    [{ bold: "Full analysis" }],
    ...result.fullAnalysis.split(/\n\s*\n/).map((paragraph) => linkCitations(paragraph, result.sources)),
    [VIEW],
    ...listSourceParagraphs(result),
  ];
}

const KEY_SIGNALS = 3;

/** The short card of an on-demand result: its summary, and a link to the rest. @param site The deployment's address. */
export function buildSnapshotCard(
  focus: string,
  { fetchedAt, result }: { fetchedAt: number; result: ResearchResult },
  site: string,
): Paragraph[] {
  const page = `${site}/research${focus === "" ? "" : `?token=${encodeURIComponent(focus)}`}`;
  const signals = result.impacts
    .toSorted((a, b) => b.confidence - a.confidence)
    .slice(0, KEY_SIGNALS)
    .flatMap((impact) => formatImpact(impact, result));
  return [
    [
      { bold: `🔬 Research · ${getFocusName(focus)}` },
      `\n${formatDateTime(fetchedAt)} · `,
      { bold: result.marketOutlook },
    ],
    [result.shortSummary],
    [{ bold: "Key signals" }, ...signals],
    [VIEW],
    [{ words: "The whole report, with its sources", href: page }],
  ];
}

/** The full text of a result. */
export function buildFullTextCard(focus: string, result: ResearchResult): Paragraph[] {
  return [[{ bold: `📄 ${getFocusName(focus)}` }], ...listResultParagraphs(result)];
}

/** The disclaimer for the parts of a result that are no observations. */
const VIEW = "Figures are the sources'; outlook, causes and forecasts are a language model's view.";

/** The sources of the citations, each name once: `CoinGecko [1, 2]`. A model's statements carry the model's name. */
function listSourceParagraphs({ sources, missing }: ResearchResult): Paragraph[] {
  const byName = new Map<string, number[]>();
  for (const { id, name } of sources) byName.set(name, [...(byName.get(name) ?? []), id]);
  const lines = [...byName].map(([name, ids]) => `\n${name} [${ids.join(", ")}]`);
  const absent = missing.map(describeMissing);
  return [
    ...(lines.length === 0 ? [] : [[{ bold: "Sources" }, lines.join("")] satisfies Paragraph]),
    ...(absent.length === 0 ? [] : [[`Not collected: ${absent.join(", ")}`] satisfies Paragraph]),
  ];
}

function formatImpact(
  { title, detail, sentiment, confidence }: ResearchResult["impacts"][number],
  { sources }: ResearchResult,
): Paragraph {
  return [
    ...[`\n${MARKS[sentiment]} `, { bold: title }, ` · ${formatPercent(confidence * 100, 0)} · `],
    ...linkCitations(detail, sources),
  ];
}

/** `2h 30min`, `8h`. */
export function formatHoursAndMinutes(ms: number): string {
  const minutes = Math.floor(ms / MINUTE);
  const remainder = minutes % 60;
  return remainder === 0 ? `${minutes / 60}h` : `${Math.floor(minutes / 60)}h ${remainder}min`;
}
