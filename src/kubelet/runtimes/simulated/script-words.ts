/** The words annotations are made of. */
export const scriptDomain = 'sim.typernetes.dev'

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

export function durationMs(what: string, text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  if (text !== '0' && (text === '' || parts.map(([part]) => part).join('') !== text)) {
    throw new Error(`annotation ${scriptDomain}/${what}: ${text} is no length of time such as 500ms, 30s or 1m30s`)
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? ''] ?? 0), 0)
}
