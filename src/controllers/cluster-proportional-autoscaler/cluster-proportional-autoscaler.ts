import { ConfigMap, Node } from '#api/core/v1/kinds.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import {
  type ProportionalScaling,
  parseTargets,
  scaleProportionally,
} from '#controllers/cluster-proportional-autoscaler/scale-proportionally.ts'
import { defineLoop } from '#controllers/runtime/define-loop.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

const name = 'cluster-proportional-autoscaler'

export type ProportionalAutoscalerOptions = {
  scaling: ProportionalScaling
  periodMs: number
  /** Hears how each round went; undefined where it went well. */
  onRound?(error: Error | undefined): void
}

/** Upstream's program: one set of targets, whose parameters are in one config map. */
export function clusterProportionalAutoscaler({ scaling, periodMs, onRound }: ProportionalAutoscalerOptions): Controller {
  return defineLoop({
    name,
    reads: [Node],
    periodMs: () => periodMs,
    begin:
      ({ cache, client, logger }) =>
      async () => {
        try {
          await scaleProportionally(scaling, { client, logger, nodes: cache.list(Node) })
          onRound?.(undefined)
        } catch (error) {
          onRound?.(error instanceof Error ? error : new Error(String(error)))
          logger.warn('failed to scale in proportion to the cluster', { configMap: scaling.configMap, error: errorMessage(error) })
        }
      },
  })
}

/** Names, in a config map's namespace, what it is the parameters of. */
const targetAnnotation = 'cluster-proportional-autoscaler.typernetes.dev/target'
const nodeLabelsAnnotation = 'cluster-proportional-autoscaler.typernetes.dev/nodelabels'
const periodMs = 10_000

/** The same for every config map that names its targets by an annotation. */
export const annotatedProportionalAutoscalers: Controller = defineLoop({
  name,
  serviceAccount: name,
  isOffByDefault: true,
  reads: [Node, ConfigMap],
  periodMs: () => periodMs,
  begin:
    ({ cache, client, logger }) =>
    async () => {
      for (const { metadata } of cache.list(ConfigMap)) {
        const target = metadata.annotations?.[targetAnnotation]
        if (target === undefined || metadata.deletionTimestamp !== undefined) continue
        const { namespace = '', name: configMap = '' } = metadata
        const nodeLabels = metadata.annotations?.[nodeLabelsAnnotation] ?? ''
        try {
          const scaling = { namespace, configMap, targets: parseTargets(target), nodeLabels }
          await scaleProportionally(scaling, { client, logger, nodes: cache.list(Node) })
        } catch (error) {
          logger.warn('failed to scale in proportion to the cluster', { namespace, configMap, error: errorMessage(error) })
        }
      }
    },
})
