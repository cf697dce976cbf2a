import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** How many bytes of V8's heap are in use afterwards that were not before. */
export function heapKeptBy(run: () => void): number {
  collect()
  const before = process.memoryUsage().heapUsed
  run()
  collect()
  return process.memoryUsage().heapUsed - before
}

/** Texts that nobody else has, each a mebibyte long. */
export const longTexts = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}${'x'.repeat(1 << 20)}`)
