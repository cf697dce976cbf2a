const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** `30s`, `1m30s`, `500ms`; a number alone is in seconds. In milliseconds. */
export function parseDuration(text: string, line: number): number {
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  if (text === '' || parts.map(([part]) => part).join('') !== text)
    throw new Error(`line ${line}: ${text || 'nothing'} is no length of time such as 30s`)
  return parts.reduce((sum, [, number, unit = '']) => sum + Number(number) * (units[unit] ?? 0), 0)
}
