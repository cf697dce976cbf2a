import { BinderMetrics } from '#controllers/persistent-volume-binder/binder-metrics.ts'
import { Promises } from '#controllers/persistent-volume-binder/binder-state.ts'
import { claimLoop } from '#controllers/persistent-volume-binder/claim-loop.ts'
import { volumeLoop } from '#controllers/persistent-volume-binder/volume-loop.ts'
import { Cache } from '#controllers/runtime/cache.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'

const names = { name: 'persistentvolume-binder-controller', alias: 'persistentvolume-binder', serviceAccount: 'persistent-volume-binder' }

/** Brings claims and volumes together, and reclaims volumes whose claims are gone. */
export const persistentVolumeBinder: Controller = {
  ...names,
  start(environment) {
    const { informers, clock, metrics } = environment
    const state = {
      metrics: new BinderMetrics(metrics.metrics, new Cache(informers), clock),
      promises: new Promises(),
      recyclers: new Map<string, string>(),
    }
    return togetherAs(names, [claimLoop(state), volumeLoop(state)]).start(environment)
  },
}
