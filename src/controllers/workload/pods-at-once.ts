/** How many pods a workload may make in one look, and how many of them at the same time. */
import type { V1Pod, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'

/** No more than this many pods are made or ended in one look. */
export const burst = 500

/**
 * With so many pods that nobody has found a node for, a workload makes no further ones until some have: two thousand million
 * replicas are a slip of the finger, and the cluster has to outlive it.
 */
const mostUnplaced = 5_000

/** Of so many missing pods, how many to make now, beside those that are there. */
export function podsToMake(missing: number, active: readonly V1Pod[]): number {
  if (active.length >= mostUnplaced) {
    let unplaced = 0
    for (const { spec } of active) if (!spec.nodeName) unplaced++
    if (unplaced >= mostUnplaced) return 0
  }
  return Math.max(0, Math.min(missing, burst))
}

/** In all copies of a template that are on their way at the same time. */
const charsUnderWay = 4 * 1024 * 1024
const fewestAtOnce = 4
const mostAtOnce = 256

/** How many pods of a template are made at the same time: each is copied, written and read on its way. */
export function createsAtOnce(template: V1PodTemplateSpec | undefined): number {
  const share = charsUnderWay / roughChars(template, charsUnderWay / fewestAtOnce)
  return Math.max(fewestAtOnce, Math.min(mostAtOnce, Math.floor(share)))
}

/** About how long the value is when written; counted no further than `enough`. */
function roughChars(value: unknown, enough: number): number {
  let chars = 1
  const open: unknown[] = [value]
  while (open.length > 0 && chars < enough) {
    const next = open.pop()
    if (typeof next === 'string') chars += next.length
    else if (typeof next === 'object' && next !== null) {
      for (const [name, inner] of Object.entries(next)) {
        chars += name.length + 4
        open.push(inner)
      }
    }
  }
  return chars
}
