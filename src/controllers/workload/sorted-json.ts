/** JSON with the keys in order: equal values give equal texts. What is empty or absent is left out. */
export function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const record = value as Readonly<Record<string, unknown>>
  const entries = Object.keys(record)
    .filter((key) => record[key] !== undefined && record[key] !== null)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${sortedJson(record[key])}`)
  return `{${entries.join(',')}}`
}
