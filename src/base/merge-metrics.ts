/** Metrics of several servers in one process, in Prometheus' text format, as those of one. */

/** Of these each server has its part; of other gauges every server says the same. */
const partialGauges =
  /^apiserver_(current_|longrunning_|registered_watchers|encryption_config_|flowcontrol_(current|request_(queue|concurrency)|seat_))/
/** Of the process as a whole. */
const ofProcess = /^(process|nodejs)_/

/** Counters and histograms are added up, and gauges of which each server has a part; of others the first server's values are taken. */
export function mergedMetrics(texts: readonly string[]): string {
  const families = new Map<string, { head: string[]; series: Map<string, number> }>()
  for (const [index, text] of texts.entries()) {
    let family: { head: string[]; series: Map<string, number> } | undefined
    let isAdded = true
    let head: string[] = []
    for (const line of text.split('\n')) {
      if (line.startsWith('# HELP ')) head = [line]
      else if (line.startsWith('# TYPE ')) {
        const [, , name = '', type = ''] = line.split(' ')
        family = families.getOrInsertComputed(name, () => ({ head: [...head, line], series: new Map() }))
        isAdded = index === 0 || (!ofProcess.test(name) && (type !== 'gauge' || partialGauges.test(name)))
      } else if (line !== '' && isAdded) {
        const space = line.lastIndexOf(' ')
        const key = line.slice(0, space)
        family?.series.set(key, (family.series.get(key) ?? 0) + Number(line.slice(space + 1).replace('Inf', 'Infinity')))
      }
    }
  }
  return [...families.values()]
    .filter(({ series }) => series.size > 0)
    .map(({ head, series }) => [...head, ...[...series].map(([key, value]) => `${key} ${printed(value)}`)].join('\n'))
    .map((family) => `${family}\n`)
    .join('')
}

const printed = (value: number): string => String(value).replace('Infinity', value > 0 ? '+Inf' : 'Inf')
