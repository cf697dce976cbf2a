import { verticalAutoscalerResources } from '#api/autoscaling/vertical/definitions.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { verticalRecommender } from '#controllers/vertical-pod-autoscaler/recommender.ts'
import { verticalUpdater } from '#controllers/vertical-pod-autoscaler/updater.ts'

export type VerticalAutoscalerOptions = { client: Client; clock: Clock; random: Random; logger: Logger; signal: AbortSignal }

/** Installs its kinds and looks after them. New pods are changed by the admission plugin `VerticalPodAutoscaler` of the API server. */
export async function startVerticalAutoscaler(
  stack: AsyncDisposableStack | { defer(end: () => Promise<void>): void },
  { client, clock, random, logger: given, signal }: VerticalAutoscalerOptions,
): Promise<void> {
  const logger = given.with({ component: 'vertical-pod-autoscaler' })
  await installDefinitions(client, verticalAutoscalerResources, { clock, signal })
  const controllers = [verticalRecommender, verticalUpdater]
  const manager = new ControllerManager({ controllers, client, clock, random, logger, settings: defaultSettings })
  stack.defer(() => manager.stop())
  await manager.start(signal)
}
