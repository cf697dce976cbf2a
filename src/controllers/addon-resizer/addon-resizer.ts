import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { isQuantity } from '#api/meta/quantity.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Needs } from '#controllers/addon-resizer/estimate-resources.ts'
import { type Outcome, type ResizedAddon, resizeAddon, sizeOf } from '#controllers/addon-resizer/resize-addon.ts'
import { defineLoop } from '#controllers/runtime/define-loop.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

const name = 'addon-resizer'

export type AddonResizerOptions = {
  addon: ResizedAddon
  /** What it needs now; that of the add-on where absent. Asked before each round. */
  needs?(): Promise<Needs>
  periodMs: number
  onOutcome?(outcome: Outcome | 'error_getting_count'): void
}

/** Upstream's program (pod_nanny): one container of one deployment. */
export function addonResizer({ addon, needs, periodMs, onOutcome }: AddonResizerOptions): Controller {
  return defineLoop({
    name,
    reads: addon.scalingMode === 'container-proportional' ? [Node, Pod] : [Node],
    periodMs: () => periodMs,
    begin: ({ cache, client, clock, logger }) => {
      let lastChangeMs = clock.now()
      return async () => {
        const current = needs === undefined ? addon : { ...addon, needs: await needs() }
        const clusterSize = sizeOf(addon, cache.list(Node), () => cache.list(Pod))
        const outcome = await resizeAddon(current, { client, logger, clusterSize, nowMs: clock.now(), lastChangeMs })
        if (outcome === 'updated_resources') lastChangeMs = clock.now()
        onOutcome?.(outcome)
      }
    },
  })
}

/** Followed by the name of a container of the deployment: what upstream's flags would say of it. */
const annotationPrefix = 'addon-resizer.typernetes.dev/'
const periodMs = 10_000

/** The same for every deployment that asks for it by an annotation. */
export const annotatedAddonResizer: Controller = defineLoop({
  name,
  serviceAccount: name,
  isOffByDefault: true,
  reads: [Node, Pod, Deployment],
  periodMs: () => periodMs,
  begin: ({ cache, client, logger }) => {
    const told = new Map<string, string>()
    return async () => {
      for (const { metadata } of cache.list(Deployment)) {
        const { namespace = '', name: deployment = '' } = metadata
        for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
          if (!key.startsWith(annotationPrefix) || metadata.deletionTimestamp !== undefined) continue
          const container = key.slice(annotationPrefix.length)
          try {
            const addon = { namespace, deployment, container, pod: '', scaleUpDelayMs: 0, scaleDownDelayMs: 0, ...parseAnnotation(value) }
            const clusterSize = sizeOf(addon, cache.list(Node), () => cache.list(Pod))
            await resizeAddon(addon, { client, logger, clusterSize, nowMs: 0, lastChangeMs: 0 })
          } catch (error) {
            // Once for each mistake, not every ten seconds.
            if (told.get(`${namespace}/${deployment}/${container}`) === value) continue
            told.set(`${namespace}/${deployment}/${container}`, value)
            logger.warn('failed to read annotation of add-on', { namespace, deployment, annotation: key, error: errorMessage(error) })
          }
        }
      }
    }
  },
})

type Annotated = Pick<ResizedAddon, 'needs' | 'estimator' | 'thresholdPercent' | 'scalingMode'>

/** `cpu=80m extra-cpu=0.5m memory=140Mi extra-memory=4Mi`, by the names of upstream's flags. */
export function parseAnnotation(text: string): Annotated {
  const given = new Map(
    text
      .trim()
      .split(/[\s,]+/)
      .map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)] as const),
  )
  const take = (flag: string, otherwise: string): string => {
    const value = given.get(flag) ?? otherwise
    given.delete(flag)
    return value
  }
  const needs: Partial<Record<'cpu' | 'memory' | 'storage', { base: string; extra: string }>> = {}
  for (const resource of ['cpu', 'memory', 'storage'] as const) {
    const [base, extra] = [take(resource, ''), take(`extra-${resource}`, '0')]
    for (const quantity of [base, extra])
      if (quantity !== '' && !isQuantity(quantity)) throw new Error(`${quantity} is not a valid quantity of ${resource}`)
    if (base !== '') needs[resource] = { base, extra }
  }
  const estimator = take('estimator', 'linear')
  const minClusterSize = Number(take('minClusterSize', '16'))
  const scalingMode = take('scaling-mode', 'node-proportional')
  const thresholdPercent = Number(take('threshold', '0'))
  const [unknown] = given.keys()
  if (unknown !== undefined) throw new Error(`"${unknown}" is not a known setting`)
  if (estimator !== 'linear' && estimator !== 'exponential') throw new Error(`Estimator ${estimator} not supported`)
  if (scalingMode !== 'node-proportional' && scalingMode !== 'container-proportional')
    throw new Error(`scaling mode ${scalingMode} not supported`)
  // Half as much again of what is below 2 may be rounded down to no more than it was, and never reach the size of a cluster.
  if (!Number.isSafeInteger(minClusterSize)) throw new Error(`minClusterSize must be a whole number. It is set to ${minClusterSize}.`)
  if (!(minClusterSize > 1)) throw new Error(`minClusterSize must be greater than 1. It is set to ${minClusterSize}.`)
  if (!(thresholdPercent >= 0 && thresholdPercent <= 100))
    throw new Error(`Threshold must be between 0 and 100 inclusive. It is ${thresholdPercent}.`)
  return {
    needs,
    scalingMode,
    thresholdPercent,
    estimator: estimator === 'linear' ? { kind: estimator } : { kind: estimator, minClusterSize },
  }
}
