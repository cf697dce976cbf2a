/** A reporter for node:test: what failed, the slowest files and tests, and the count. */
type TestEvent = {
  type: string
  data: {
    name: string
    file?: string
    skip?: string | boolean
    todo?: string | boolean
    details?: { duration_ms: number; type?: string; error?: Error & { cause?: unknown } }
  }
}

export default async function* slowest(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const passed: { name: string; file: string; ms: number }[] = []
  let failed = 0
  let skipped = 0
  for await (const { type, data } of source) {
    if (data?.details?.type === 'suite') continue
    const where = data?.file?.replace(`${process.cwd()}/`, '') ?? ''
    if (type === 'test:fail') {
      failed++
      const cause = data.details?.error?.cause ?? data.details?.error
      yield `FAILED ${where}: ${data.name}\n${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}\n`
    } else if (type === 'test:pass') {
      if (data.skip) {
        skipped++
        yield `skipped ${where}: ${data.name} (${data.skip === true ? 'no reason given' : data.skip})\n`
      } else passed.push({ name: data.name, file: where, ms: data.details?.duration_ms ?? 0 })
    }
  }
  yield `slowest:\n${slowestOf(passed.map(({ name, file, ms }) => ({ label: `${file}: ${name}`, ms })))}\n`
  const files = Map.groupBy(passed, ({ file }) => file)
  yield `slowest files:\n${slowestOf([...files].map(([file, tests]) => ({ label: file, ms: tests.reduce((sum, { ms }) => sum + ms, 0) })))}\n`
  yield `${passed.length} passed, ${failed} failed, ${skipped} skipped\n`
}

function slowestOf(timed: { label: string; ms: number }[]): string {
  const slowest = timed.toSorted((left, right) => right.ms - left.ms).slice(0, 8)
  return slowest.map(({ label, ms }) => `  ${ms.toFixed(0).padStart(7)} ms  ${label}`).join('\n')
}
