import type { WeightedBackend } from '#ingress/routing/route.ts'

/** By weight; `dice` is from 0 to below 1. Undefined where all weights are 0, or there is none: nobody is to answer then. */
export function chooseWeighted(backends: readonly WeightedBackend[], dice: number): WeightedBackend | undefined {
  const [only] = backends
  if (backends.length === 1) return only !== undefined && only.weight > 0 ? only : undefined
  let total = 0
  for (const { weight } of backends) total += weight
  let left = dice * total
  for (const backend of backends) {
    if (backend.weight > 0 && left < backend.weight) return backend
    left -= backend.weight
  }
  return undefined
}
